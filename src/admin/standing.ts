// The state of the broker itself: its phase, and its present conditions.
import type { Clock } from '../kernel/clock.js';
import { timeText, type BrokerView, type StatusView } from '../model/views.js';

/** The inputs of the standing. */
export interface StandingPorts<Area> {
  readonly version: string;
  readonly pid: number;
  readonly bootId: string;
  readonly clock: Clock;
  /** The present conditions, as sentences and the areas they belong to: Conditions (journal/conditions). */
  readonly conditions: { readonly sentences: readonly string[]; readonly areas: readonly Area[] };
  /** The configuration in force: LiveConfig (config/live-config). */
  readonly policy: { view(): StatusView['policy'] };
  /** CheckpointStore (checkpoint/store). */
  readonly checkpoint: { view(): StatusView['checkpoint'] };
  /** The ledger of leases: Leases.view (daemon/leases). */
  readonly ledger: () => StatusView['ledger'];
  /** Plugins and callers that were refused of late: RefusedAgain (journal/refused-again). */
  readonly refused: { views(): StatusView['refused'] };
  /** The plugins of the checkpoint, how many, and whether all have been heard of: Restart (reconcile/restart). */
  readonly restart: { readonly restored: number; readonly isSettled: boolean };
}

/** The broker's own facts, as of its start. */
export class Standing<Area> {
  /** The state of the checkpoint was restored. */
  isRestored = false;
  isStopping = false;
  readonly #ports: StandingPorts<Area>;
  readonly #startedAt: number;

  constructor(ports: StandingPorts<Area>) {
    this.#ports = ports;
    this.#startedAt = ports.clock.wall();
  }

  /** As `status` shows them. */
  view(): BrokerView {
    const { version, pid, bootId, conditions, restart } = this.#ports;
    const problems = [...conditions.sentences, ...this.#policyProblems()];
    const isSettled = this.isRestored && restart.isSettled;
    const phase = this.isStopping ? 'stopping' : !isSettled ? 'restoring' : problems.length > 0 ? 'degraded' : 'ready';
    const startedAt = timeText(this.#startedAt);
    return { version, pid, phase, startedAt, bootId, restoredPlugins: restart.restored, problems };
  }

  /** Everything that `status` shows beside plugins and resources. */
  head(): Omit<StatusView, 'plugins' | 'resources'> {
    const { checkpoint, policy, ledger, refused } = this.#ports;
    return {
      broker: this.view(),
      checkpoint: checkpoint.view(),
      policy: policy.view(),
      ledger: ledger(),
      refused: refused.views(),
    };
  }

  /** The areas that do not work, as metrics name them. */
  get degraded(): readonly (Area | 'policy')[] {
    return [...this.#ports.conditions.areas, ...this.#policyProblems().map(() => 'policy' as const)];
  }

  #policyProblems(): string[] {
    const { error, source } = this.#ports.policy.view();
    return error === '' ? [] : [`the policy file ${source} is not in force: ${error}`];
  }
}
