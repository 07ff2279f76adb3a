// The state of the checkpoint for the rest of the broker: its problem, and that everything is on the disk.
import { Listeners } from '../kernel/listeners.js';
import type { CheckpointView } from '../model/views.js';

/** Hears of a checkpoint that is in order: Persistence (checkpoint/persistence) and Endings (allocation/endings). */
export interface StoreListener {
  /** Everything is on the disk, with the changes that could not be written in time. */
  caughtUp(): void;
}

/** Tells of the state of a store. */
export class StoreState {
  readonly listeners = new Listeners<StoreListener>();
  readonly #told: (problem: string | undefined) => void;

  /** @param told the problem, in one sentence; undefined: there is none. `Conditions.set` (journal/conditions) */
  constructor(told: (problem: string | undefined) => void) {
    this.#told = told;
  }

  /**
   * The state of the store now: at a start once its contents are restored, and after each change.
   *
   * @param listsProblem `CheckpointStore.listsProblem` (checkpoint/store)
   */
  readonly is = (view: CheckpointView, listsProblem: string | undefined): void => {
    this.#told(checkpointCondition(view, listsProblem));
    if (isWritable(view)) this.listeners.tell((one) => one.caughtUp());
  };
}

function isWritable({ state }: Pick<CheckpointView, 'state'>): boolean {
  return state !== 'not-writable' && state !== 'newer-format';
}

/**
 * The problem, as a sentence, while registrations, or large lists of devices, do not become durable; undefined while they do, also
 * when a start found less than was written: that loss is over, and was reported once.
 */
export function checkpointCondition(
  view: Pick<CheckpointView, 'state' | 'reason'>,
  listsProblem: string | undefined,
): string | undefined {
  return isWritable(view) ? listsProblem : `the checkpoint is ${view.state}: ${view.reason}`;
}
