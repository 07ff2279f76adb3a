// Stands between the broker and its neighbours when a program tests plugins against it (contract 13): does what that
// program orders, and tells it what happens. Never there otherwise.
import type { FloodPort, FloodSubject, FloodVerdict } from '../admission/ports.js';
import { asError, sleep, type Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/random.js';
import type { EventDraft, EventSink } from '../model/event.js';
import type { BrokerNews, CallFate, Fault, FaultOrder, PluginPicture } from '../model/fault-port.js';
import { pluginKey } from '../model/ids.js';
import type { Instance } from '../reconcile/instance.js';
import type { PluginDialler } from '../session/ports.js';
import { BreakableStream } from './breakable-stream.js';
import type { Core } from './core.js';

/** The longest pause between a list and the next break: breaks shall come at any moment of a plugin's work. */
const LONGEST_PAUSE_MS = 60;

/** A span of faults that begins with the first registration that meets it. */
interface Span {
  readonly kind: 'refuse' | 'hang';
  readonly ms: number;
  until: number | undefined;
}

/** What the port needs. */
export interface FaultPortParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Takes news to the program; never throws, never waits. */
  readonly tell: (news: BrokerNews) => void;
}

/** One broker's faults and news. */
export class FaultPort {
  readonly #parts: FaultPortParts;
  readonly #streams = new Map<string, BreakableStream>();
  #spans: Span[] = [];
  #denials = 0;
  #core: Core | undefined;
  #isPictureDue = false;
  #lastPicture = '';

  constructor(parts: FaultPortParts) {
    this.#parts = parts;
  }

  /** Does what an order says, in addition to what earlier ones said. */
  obey({ faults }: FaultOrder): void {
    for (const fault of faults) this.#begin(fault);
  }

  /** The phase of the broker changed. */
  phase(phase: Extract<BrokerNews, { kind: 'phase' }>['phase']): void {
    this.#parts.tell({ kind: 'phase', at: this.#now(), phase });
  }

  /** Tells how plugins are from now on, each time that changes. */
  follow(core: Core): void {
    this.#core = core;
    core.roster.onChange(() => this.#pictureSoon());
    core.roster.onRemoved(() => this.#pictureSoon());
  }

  /** A list was applied. */
  listApplied(): void {
    this.#pictureSoon();
  }

  /** The sink of events, told to the program too. */
  events(inner: EventSink): EventSink {
    return {
      record: (draft: EventDraft) => {
        inner.record(draft);
        this.#parts.tell({
          kind: 'event',
          at: this.#now(),
          event: { reason: '', plugin: '', socket: '', ...draft },
        });
      },
    };
  }

  /** The flood policy, with the order's refusals and delays before it. What the broker asks for itself is left alone. */
  flood<F extends FloodPort>(inner: F): F {
    return {
      ...inner,
      quarantined: (subject: FloodSubject) => inner.quarantined(subject),
      registration: (subject: FloodSubject): FloodVerdict => {
        if (subject.pulled) return inner.registration(subject);
        const fault = this.#faultFor(subject);
        this.#call(subject, fault?.fate ?? (this.#isDenied(subject) ? 'denied' : 'passed'));
        return fault?.verdict ?? inner.registration(subject);
      },
    };
  }

  /** The rule of allowed names, which the next registration at the watcher door fails when that was ordered. */
  nameAllowed(inner: (name: string) => boolean): (name: string) => boolean {
    return (name) => {
      if (this.#denials === 0) return inner(name);
      this.#denials -= 1;
      this.#denied.add(name);
      return false;
    };
  }

  /** Dials plugins; their streams can be broken. */
  dialler(inner: PluginDialler): PluginDialler {
    return {
      dial: (endpoint) => {
        const connection = inner.dial(endpoint);
        return {
          options: (limitMs, signal) => connection.options(limitMs, signal),
          onLost: (lost) => connection.onLost(lost),
          close: () => connection.close(),
          listAndWatch: () => {
            const stream = new BreakableStream(connection.listAndWatch(), () => inner.dial(endpoint));
            this.#streams.set(endpoint.path, stream);
            return stream;
          },
        };
      },
    };
  }
}
