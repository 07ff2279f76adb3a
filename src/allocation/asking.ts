// Asks plugins for devices that are marked already: for the preferred ones, then Allocate, each plugin's answer checked.
import { asError, sleep, type Clock } from '../kernel/clock.js';
import { KeyedLane } from '../kernel/keyed-lane.js';
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { Counted } from '../model/device-use.js';
import type { FailedCall } from '../model/failed-call.js';
import { strangerUser } from '../model/ids.js';
import type { Granted, Lease, PluginAnswer, Want } from '../model/lease.js';
import { GRPC_STATUS } from '../model/reasons.js';
import { answerProblem, mergeAnswers, reachProblem } from './answers.js';
import { mayBeGiven } from './availability.js';
import { shareNode } from './choose.js';
import type { DecisionTime } from './decision-time.js';
import type { Ledger } from './ledger.js';
import { PluginLine } from './plugin-line.js';
import type { AllocationPorts, Offer } from './ports.js';

/**
 * Milliseconds that an ordinary user pays for each further plugin of a lease: the limit of requests counts a request once, and
 * the cost of each further call (its messages, events and garbage) would be on nobody's account otherwise.
 */
const CALL_MS = 0.4;
/** Devices of a call that was not answered are not tried again for so long: the plugin may be working on them still. */
const AVOID_MS = 10_000;

/**
 * The devices of which the plugin of an ordinary user is told in GetPreferredAllocation, and that any plugin may name in its
 * answer.
 */
const MOST_NAMED = 4096;

/** Variables, mounts and other parts that the plugins of one lease may answer together: each is encoded and written by itself. */
const MOST_PARTS = 8192;

/** Asks plugins for preferred devices, and for the answers to Allocate. */
export class Asking {
  readonly #ports: AllocationPorts;
  readonly #ledger: Ledger;
  readonly #time: DecisionTime;
  readonly #again: (resource: string) => void;
  readonly #lines = new Map<string, PluginLine>();
  /** Questions for preferred devices that wait for the rest of their user, by user. */
  readonly #resting = new KeyedLane();
  /** Until when devices are avoided, by resource and id, those that are avoided longest last. */
  readonly #avoided = new Map<string, Map<string, number>>();

  /** @param again called when devices of a resource are not avoided any more */
  constructor(ports: AllocationPorts, ledger: Ledger, time: DecisionTime, again: (resource: string) => void) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#time = time;
    this.#again = again;
  }

  /** Whether a device is better not given now. */
  readonly isAvoided = (resource: string, id: string): boolean => {
    const until = this.#avoided.get(resource)?.get(id);
    return until !== undefined && until > this.#ports.clock.mono();
  };

  /** How many devices are remembered as better not given. */
  get avoided(): number {
    return [...this.#avoided.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * The devices that the plugin would rather give than the marked ones. After any fault, and any answer that does not fit, the
   * marked ones are given. Others may have taken them when the caller hears of it (Ledger.exchange).
   *
   * @param uid in whose share this is; one that has none left is given the marked devices
   * @param until monotonic milliseconds, for all plugins of a request together: its devices are nobody's until they are given
   */
  async preferred(want: Want, marked: Granted, uid: number, until: number, signal: AbortSignal): Promise<Granted> {
    const { resource, count, ids } = want;
    const { clock, offers } = this.#ports;
    if (offers.of(resource)?.plugin?.isPreferredAvailable !== true || ids.length === count) return marked;
    const counted: Counted = (work) => this.#time.spend(uid, work);
    try {
      await this.#rest(uid, until, signal);
      const offer = offers.of(resource);
      const limitMs = until - clock.mono();
      if (offer?.plugin === undefined || this.#time.waitMs(uid) > 0 || limitMs <= 0) return marked;
      const { plugin } = offer;
      const answer = await counted(() => {
        const question = { available: this.#choice(offer, marked), mustInclude: ids, size: count };
        return plugin.preferred(question, limitMs, signal, counted);
      });
      return counted(() => this.#fitting(answer, want, marked));
    } catch {
      return marked;
    }
  }

  /** Waits until the rest of an ordinary user is over, one question after the other, or `until`. @throws the signal's reason */
  async #rest(uid: number, until: number, signal: AbortSignal): Promise<void> {
    const user = strangerUser(uid, this.#ports);
    if (user === undefined) return;
    await this.#resting.run(
      String(user),
      async () => {
        const { clock } = this.#ports;
        const leftMs = Math.min(this.#time.restMs(uid), until - clock.mono());
        if (leftMs > 0) await sleep(clock, Math.ceil(leftMs), signal);
      },
      signal,
    );
  }

  /** The devices that a plugin may choose from: the marked and the free ones. */
  #choice({ devices, stranger }: Offer, marked: Granted): readonly string[] {
    const { resource } = marked;
    const most = stranger === undefined ? Infinity : MOST_NAMED;
    const choice = marked.devices.map(({ id }) => id).filter((id) => !this.isAvoided(resource, id));
    const taken = this.#ledger.takenOf(resource);
    for (const device of devices ?? []) {
      if (choice.length >= most) break;
      if (mayBeGiven(device, taken) && !this.isAvoided(resource, device.id)) choice.push(device.id);
    }
    return choice;
  }

  /** The devices that a plugin named, where they can be given now; else the marked ones. */
  #fitting(answer: readonly string[], { count, ids, numa }: Want, marked: Granted): Granted {
    const { resource } = marked;
    const names = new Set(answer.slice(0, MOST_NAMED));
    if (names.size !== count || answer.length > MOST_NAMED || ids.some((id) => !names.has(id))) return marked;
    const named = (id: string): boolean => names.has(id) && !this.isAvoided(resource, id);
    const found = new Map(marked.devices.filter(({ id }) => named(id)).map((one) => [one.id, one]));
    const taken = this.#ledger.takenOf(resource);
    for (const device of this.#ports.offers.of(resource)?.devices ?? []) {
      if (found.size === count) break;
      if (named(device.id) && mayBeGiven(device, taken)) found.set(device.id, device);
    }
    const devices = [...names].flatMap((id) => found.get(id) ?? []).map(({ id, numaNodes }) => ({ id, numaNodes }));
    const fits = devices.length === count && (numa === 'prefer' || shareNode(devices));
    return fits ? { resource, devices } : marked;
  }

  /** Asks every plugin of a lease at once, and merges the answers. @param uid the uid of the lease's owner */
  async ask(
    { granted, uid }: Pick<Lease, 'granted' | 'uid'>,
    signal: AbortSignal,
  ): Promise<PluginAnswer | AllocationRefusal> {
    this.#ports.store.expect();
    this.#time.charge(uid, (granted.length - 1) * CALL_MS);
    // A signal for each: a lease may have more plugins than Node takes for no leak of listeners.
    const calls = granted.map((one) => ({ one, halt: new AbortController() }));
    const giveUp = (reason: unknown): void => calls.forEach(({ halt }) => halt.abort(reason));
    const left = (): void => giveUp(signal.reason);
    signal.addEventListener('abort', left, { once: true });
    if (signal.aborted) left();
    const answers = await Promise.all(
      calls.map(async ({ one, halt }) => {
        const answer = await this.#inLine(one, uid, halt.signal);
        if ('code' in answer) giveUp(new Error('another plugin of the lease failed'));
        return { resource: one.resource, answer };
      }),
    ).finally(() => signal.removeEventListener('abort', left));
    const good = answers.flatMap(({ resource, answer }) => ('code' in answer ? [] : [{ resource, answer }]));
    const refusals = answers.flatMap(({ answer }) => ('code' in answer ? [answer] : []));
    // The one that failed by itself is the cause; the others were given up for it.
    const cause = refusals.find(({ code }) => code !== 'ALLOCATOR_STOPPING') ?? refusals[0];
    if (cause !== undefined) return cause;
    const parts = good.reduce((sum, { answer }) => sum + partsOf(answer), 0);
    if (parts > MOST_PARTS) {
      const message = `its plugins answered ${String(parts)} variables, mounts and others together, and a lease has ${String(MOST_PARTS)} at most`;
      return { code: 'PLUGIN_FAILED', message };
    }
    const merged = this.#time.spend(uid, () => mergeAnswers(good, this.#ports.settings.joinEnv));
    if ('problem' in merged) return { code: 'RESPONSE_CONFLICT', message: merged.problem };
    return merged;
  }

  async #inLine(granted: Granted, uid: number, signal: AbortSignal): Promise<PluginAnswer | AllocationRefusal> {
    const instanceId = this.#ports.offers.of(granted.resource)?.instanceId ?? '';
    const line = this.#lines.get(instanceId) ?? new PluginLine();
    this.#lines.set(instanceId, line);
    const user = strangerUser(uid, this.#ports);
    if (!(await line.begin(user, signal))) return givenUp(granted.resource);
    try {
      return await this.#askOne(granted, uid, signal);
    } finally {
      line.end(user);
      if (line.isEmpty) this.#lines.delete(instanceId);
    }
  }

  async #askOne(
    { resource, devices }: Granted,
    uid: number,
    signal: AbortSignal,
  ): Promise<PluginAnswer | AllocationRefusal> {
    const { timeouts, clock } = this.#ports;
    if (signal.aborted) return givenUp(resource);
    const offer = this.#ports.offers.of(resource);
    if (offer?.plugin === undefined) {
      return { code: 'PLUGIN_NOT_READY', message: `the plugin of ${resource} went away before it was asked` };
    }
    const ids = devices.map(({ id }) => id);
    const counted: Counted = (work) => this.#time.spend(uid, work);
    let answer: PluginAnswer;
    try {
      answer = await offer.plugin.allocate(ids, timeouts.allocateMs, signal, counted);
    } catch (failure) {
      if (isOver(signal)) return givenUp(resource);
      if ((failure as Partial<FailedCall>).status === GRPC_STATUS.DEADLINE_EXCEEDED) this.#avoid(resource, ids, clock);
      return {
        code: 'PLUGIN_FAILED',
        resource,
        message: `the plugin of ${resource} refused ${named(ids)}: ${asError(failure).message}`,
      };
    }
    const { stranger } = offer;
    // A variable that an operator sets counts more than the plugin's. Its value is the plugin's choice, too: the ids.
    const envs = new Map([
      ...answer.envs,
      ...[...this.#ports.rules.allocateOf(resource).env.keys()].map((name) => [name, ids.join(',')] as const),
    ]);
    const problem =
      counted(() => answerProblem(answer)) ??
      (stranger === undefined ? undefined : reachProblem({ ...answer, envs }, stranger, uid));
    if (problem !== undefined) {
      return {
        code: 'PLUGIN_FAILED',
        resource,
        message: `the answer of the plugin of ${resource} for ${named(ids)} cannot be used: ${problem}`,
      };
    }
    return { ...answer, envs };
  }

  #avoid(resource: string, ids: readonly string[], clock: Clock): void {
    const until = clock.mono() + AVOID_MS;
    const avoided = this.#avoided.get(resource) ?? new Map<string, number>();
    this.#avoided.set(resource, avoided);
    for (const id of ids) {
      avoided.delete(id); // so that it comes last
      avoided.set(id, until);
    }
    clock.alarm(AVOID_MS, () => {
      for (const [id, untilMs] of avoided) {
        if (untilMs > until) break;
        avoided.delete(id);
      }
      if (avoided.size === 0 && this.#avoided.get(resource) === avoided) this.#avoided.delete(resource);
      this.#again(resource);
    });
  }
}

function partsOf({ envs, mounts, devices, annotations, cdiDevices }: PluginAnswer): number {
  return envs.size + mounts.length + devices.length + annotations.size + cdiDevices.length;
}

function givenUp(resource: string): AllocationRefusal {
  return { code: 'ALLOCATOR_STOPPING', message: `asking the plugin of ${resource} was given up` };
}

function named(ids: readonly string[]): string {
  const more = ids.length > 4 ? ` and ${String(ids.length - 4)} more` : '';
  return `${ids.slice(0, 4).join(', ')}${more}`;
}

/** Asked anew: the signal may have aborted while something was awaited. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
