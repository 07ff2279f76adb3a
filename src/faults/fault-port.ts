// Stands between the broker and its neighbours when a program tests plugins against it: does the faults which that program
// orders, and tells it what happens. Only the entry src/serve-under-test.ts brings it in.
import type { FloodSubject, FloodVerdict } from '../model/flood.js';
import { asError, sleep, type Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/random.js';
import type { ListListener } from '../model/device-list.js';
import type { EventDraft, EventSink } from '../model/event.js';
import type { BrokerNews, CallFate, Fault, FaultOrder, PluginPicture } from '../model/fault-port.js';
import { pluginKey } from '../model/ids.js';
import type { RosterListener } from '../model/instance.js';
import type { PluginDialler } from '../session/ports.js';
import { BreakableStream } from './breakable-stream.js';
import { held, RegistrationRules } from './registration-rules.js';
import type { Core, CorePorts } from '../daemon/core.js';

/** The longest pause between a list and the next break: breaks shall come at any moment of a plugin's work. */
const LONGEST_PAUSE_MS = 60;

/**
 * Pictures on their way to the program: beyond them the newest waits. A picture of a thousand plugins is a third of a megabyte, and
 * each change of a list makes one.
 */
const MOST_PICTURES_OUT = 64;

/** A span of faults that begins with the first registration that meets it. */
interface Span {
  readonly kind: 'refuse' | 'hang';
  readonly ms: number;
  until?: number;
}

/** The parts of the port. */
export interface FaultPortParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Takes news to the program; never throws, never waits. Calls `left` when they have left, or nobody is there. */
  readonly tell: (news: BrokerNews, left?: () => void) => void;
}

/** One broker's faults and news. */
export class FaultPort implements RosterListener, ListListener {
  readonly #parts: FaultPortParts;
  /** Streams by the path of their socket. */
  readonly #streams = new Map<string, BreakableStream>();
  readonly #denied = new Set<string>();
  readonly #rules: RegistrationRules;
  #spans: readonly Span[] = [];
  #denials = 0;
  #core: Core | undefined;
  #journal: { readonly seq: number } | undefined;
  #isPictureDue = false;
  #lastPicture = '';
  #picturesOut = 0;

  constructor(parts: FaultPortParts) {
    this.#parts = parts;
    this.#rules = new RegistrationRules(parts.clock);
  }

  /** Applies an order, in addition to earlier ones. */
  obey({ faults }: FaultOrder): void {
    for (const fault of faults) this.#begin(fault);
  }

  /** The phase of the broker changed. */
  phase(phase: Extract<BrokerNews, { kind: 'phase' }>['phase']): void {
    this.#parts.tell({ kind: 'phase', at: this.#now(), phase });
  }

  /** HTTP is served at an address, or is not. */
  http(address: string | undefined): void {
    this.#parts.tell({ kind: 'http', at: this.#now(), address });
  }

  /** Stands between the core and its neighbours. */
  disturb(ports: CorePorts): CorePorts {
    const { live } = ports;
    return {
      ...ports,
      live: {
        settings: live.settings,
        get admission() {
          return live.admission;
        },
        get liveness() {
          return live.liveness;
        },
        nameAllowed: (name) => this.#isAllowed(name, () => live.nameAllowed(name)),
        policyFor: (type, name, socket) => live.policyFor(type, name, socket),
      },
      flood: {
        quarantined: (subject) => ports.flood.quarantined(subject),
        registration: (subject) => this.#registration(subject, () => ports.flood.registration(subject)),
        openPacer: (enrolment) => ports.flood.openPacer(enrolment),
      },
      events: this.#events(ports.events),
      dialler: this.#dialler(ports.dialler),
      store: {
        expect: () => ports.store.expect(),
        persist: async (instance, pulled) => {
          const isDurable = await ports.store.persist(instance, pulled);
          this.changed();
          return isDurable;
        },
        isKept: () => ports.store.isKept(),
        isDeregistered: (socketKey) => ports.store.isDeregistered(socketKey),
      },
    };
  }

  /**
   * Tells how the plugins of a core are from now on, each time that changes, and after all its listeners.
   *
   * @param journal numbers its events
   */
  follow(core: Core, journal: { readonly seq: number }): void {
    this.#core = core;
    this.#journal = journal;
    core.roster.listeners.follow(this);
    core.inventory.listeners.follow(this);
  }

  changed(): void {
    if (this.#core !== undefined) this.#pictureSoon(this.#core);
  }

  removed(): void {
    this.changed();
  }

  listApplied(): void {
    this.changed();
  }

  /** The sink of events, told to the program too. */
  #events(inner: EventSink): EventSink {
    return {
      record: (draft: EventDraft) => {
        const before = this.#journal?.seq ?? 0;
        inner.record(draft);
        const seq = this.#journal?.seq ?? 0;
        const at = this.#now();
        const { type, reason = '', plugin = '', socket = '', message } = draft;
        const event = { time: new Date(at).toISOString(), type, reason, plugin, socket, message };
        this.#parts.tell({ kind: 'event', at, event: seq > before ? { ...event, seq } : event });
      },
    };
  }

  #begin(fault: Fault): void {
    if (fault.kind === 'none') {
      this.#spans = [];
      this.#denials = 0;
      this.#rules.clear();
    } else if (fault.kind === 'rule') this.#rules.add(fault);
    else if (fault.kind === 'lift') this.#rules.lift(fault.id);
    else if (fault.kind === 'notify-false') this.#denials += 1;
    else if (fault.kind === 'stream-break') this.#breakAll(fault.times, fault.listWithinMs, fault.socket);
    else this.#spans = [...this.#spans, { kind: fault.kind, ms: fault.ms }];
  }

  /** The flood policy, after ordered refusals and delays. Actions of the broker itself are left alone. */
  #registration(subject: FloodSubject, inner: () => FloodVerdict): FloodVerdict {
    if (subject.pulled) return inner();
    const verdict = this.#verdictFor(subject);
    const { door, type, name } = subject;
    const heldMs = verdict?.kind === 'delay' ? verdict.delayMs : 0;
    this.#parts.tell({ kind: 'call', at: this.#now(), door, type, name, fate: this.#fateOf(name, verdict), heldMs });
    return verdict ?? inner();
  }

  #isAllowed(name: string, inner: () => boolean): boolean {
    if (this.#denials === 0) return inner();
    this.#denials -= 1;
    this.#denied.add(name);
    return false;
  }

  #dialler(inner: PluginDialler): PluginDialler {
    return {
      dial: (endpoint) => {
        const connection = inner.dial(endpoint);
        return {
          ...connection,
          listAndWatch: () => {
            for (const [path, { isOpen }] of this.#streams) if (!isOpen) this.#streams.delete(path);
            const tell = (is: 'up' | 'down'): void =>
              this.#parts.tell({ kind: 'stream', at: this.#now(), socket: endpoint.path, is });
            const stream = new BreakableStream(connection.listAndWatch(), () => inner.dial(endpoint), tell);
            this.#streams.set(endpoint.path, stream);
            return stream;
          },
        };
      },
    };
  }

  #verdictFor(subject: FloodSubject): FloodVerdict | undefined {
    const { name } = subject;
    const now = this.#parts.clock.mono();
    for (const span of this.#spans) {
      span.until ??= now + span.ms;
      const leftMs = Math.ceil(span.until - now);
      if (leftMs <= 0) continue;
      if (span.kind === 'hang') return held(this.#parts.clock, leftMs);
      const message = `${name}: refused by verify; come back in ${(leftMs / 1000).toFixed(1)} s`;
      return { kind: 'refuse', refusal: { code: 'FLOOD_REGISTER', message, retryAfterMs: leftMs } };
    }
    return this.#rules.verdictFor(subject);
  }

  #fateOf(name: string, verdict: FloodVerdict | undefined): CallFate {
    if (verdict !== undefined) return verdict.kind === 'delay' ? 'held' : 'refused';
    return this.#denied.delete(name) ? 'denied' : 'passed';
  }

  #breakAll(times: number, withinMs: number, only: string | undefined): void {
    for (const [socket, stream] of this.#streams) {
      if (stream.isOpen && (only ?? socket) === socket) void this.#break(socket, stream, times, withinMs);
    }
  }

  async #break(socket: string, stream: BreakableStream, times: number, withinMs: number): Promise<void> {
    const { clock, random, tell } = this.#parts;
    let done = 0;
    let slowestMs = 0;
    let failure: string | undefined;
    while (done < times && failure === undefined) {
      await sleep(clock, random.next() * LONGEST_PAUSE_MS);
      const from = clock.mono();
      try {
        await stream.break(withinMs, clock);
        done += 1;
        slowestMs = Math.max(slowestMs, clock.mono() - from);
      } catch (thrown) {
        failure = asError(thrown).message;
      }
    }
    tell({ kind: 'streams-broken', at: this.#now(), socket, times: done, slowestMs, failure });
  }

  /** After all changes of this moment: a state between two steps of one change is not shown. */
  #pictureSoon(core: Core): void {
    if (this.#isPictureDue) return;
    this.#isPictureDue = true;
    if (this.#picturesOut < MOST_PICTURES_OUT) void Promise.resolve().then(() => this.#picture(core));
  }

  #picture(core: Core): void {
    this.#isPictureDue = false;
    const plugins = pictureOf(core);
    const text = JSON.stringify(plugins);
    if (text === this.#lastPicture) return;
    this.#lastPicture = text;
    this.#picturesOut += 1;
    this.#parts.tell({ kind: 'picture', at: this.#now(), plugins }, () => {
      this.#picturesOut -= 1;
      if (this.#isPictureDue && this.#picturesOut === MOST_PICTURES_OUT - 1) this.#picture(core);
    });
  }

  #now(): number {
    return this.#parts.clock.wall();
  }
}

function pictureOf(core: Core): PluginPicture[] {
  const resources = core.offered.all();
  const plugins = new Map<string, PluginPicture>();
  for (const { type, name } of core.roster.all()) {
    const key = pluginKey({ type, name });
    const primary = plugins.has(key) ? undefined : core.roster.primaryOf(type, name);
    if (primary === undefined) continue;
    const { door, state, reason, socketKey, socketPath, caller } = primary;
    const resource = resources.get(name);
    plugins.set(key, {
      ...{ type, name, door, state, reason },
      incarnation: socketKey,
      socket: socketPath,
      pid: caller?.pid ?? -1,
      capacity: resource?.capacity ?? 0,
      allocatable: resource?.allocatable ?? 0,
      isListed: resource?.owner.id === primary.id,
      isDurable: primary.isDurable,
    });
  }
  return [...plugins.values()];
}
