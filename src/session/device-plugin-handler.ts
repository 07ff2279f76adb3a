// The handler of type DevicePlugin: one session per instance.
import type { Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/random.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { Accepted, Enrolment, InstanceHandle, PinnedSocket, PluginHandler } from '../model/plugin.js';
import { type Reason, type Refusal } from '../model/reasons.js';
import type { LivenessSettings, Timeouts } from '../model/settings.js';
import type { ListSink, PluginDialler, SocketMover, UpdatePacer } from './ports.js';
import { checkResourceName } from './resource-name.js';
import { Session, type SessionPorts } from './session.js';

/** The API versions the kubelet serves (kubelet-behaviour: exact match of an element). */
const SUPPORTED_VERSIONS = ['v1beta1'] as const;

/** A plugin's socket is moved aside at most this often (contract 3). */
const RECYCLE_EVERY_MS = 60_000;
/** How long the incumbent has to prove that it lives (contract 3: keep-alive). */
const ALIVE_WITHIN_MS = 1000;
/** Recycle times kept: one per plugin name, oldest dropped. */
const MAX_RECYCLED = 4096;

/** What the handler is given. */
export interface DevicePluginPorts {
  readonly dialler: PluginDialler;
  readonly lists: ListSink;
  readonly mover: SocketMover;
  /** The endpoint of exactly that incarnation, held once for whoever asks; undefined when it is gone or kept out. */
  readonly endpointOf: (instanceId: string) => PinnedSocket | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextTurn: () => Promise<void>;
  readonly openPacer: (enrolment: Enrolment, instanceId: string) => UpdatePacer;
  readonly settings: () => { readonly timeouts: Timeouts; readonly liveness: LivenessSettings };
  readonly count: (instanceId: string, what: 'updates' | 'coalesced' | 'disconnects', by: number) => void;
}

/** Validate → Register → DeRegister for device plugins. */
export class DevicePluginHandler implements PluginHandler {
  readonly type = DEVICE_PLUGIN;
  readonly coexist = false;
  readonly serialBy = 'incarnation';
  readonly #ports: DevicePluginPorts;
  readonly #sessions = new Map<string, Session>();
  /** Sessions whose plugin has not answered yet. */
  readonly #opening = new Map<string, Session>();
  readonly #recycledAt = new Map<string, number>();

  constructor(ports: DevicePluginPorts) {
    this.#ports = ports;
  }

  validate(name: string, versions: readonly string[]): Refusal | undefined {
    const wrong = checkResourceName(name);
    if (wrong !== undefined) return { code: 'NAME_INVALID', message: wrong };
    if (versions.some((version) => SUPPORTED_VERSIONS.some((supported) => supported === version))) return undefined;
    const offered = versions
      .slice(0, 8)
      .map((version) => JSON.stringify(version.slice(0, 64)))
      .join(', ');
    return {
      code: 'VERSION_UNSUPPORTED',
      message: `${name}: requested API version ${offered === '' ? '(none)' : offered} is not supported; supported versions are ["${SUPPORTED_VERSIONS.join('", "')}"]`,
    };
  }

  async register(enrolment: Enrolment, instance: InstanceHandle, signal: AbortSignal): Promise<Accepted> {
    const session = new Session(enrolment, instance, this.#sessionPorts(enrolment, instance.id));
    this.#opening.set(instance.id, session);
    let options;
    try {
      options = await session.open(signal);
    } catch (failure) {
      session.close();
      throw failure;
    } finally {
      this.#opening.delete(instance.id);
    }
    // Make before break, for a second session on the same incarnation too.
    this.#sessions.get(instance.id)?.close();
    this.#sessions.set(instance.id, session);
    this.#attach(enrolment, instance, session);
    return { version: SUPPORTED_VERSIONS[0], facts: { ...options } };
  }

  /** Asks over the open session; without one, or when it is just lost, on a connection of its own. One second in all. */
  async isAlive(instanceId: string, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#ports;
    const until = clock.mono() + ALIVE_WITHIN_MS;
    const session = this.#sessions.get(instanceId);
    if (session?.isClosed === false && (await session.isAlive(ALIVE_WITHIN_MS, signal))) return true;
    const leftMs = until - clock.mono();
    return leftMs > 0 && !signal.aborted && this.#answersAfresh(instanceId, leftMs, signal);
  }

  deregister(instanceId: string, _reason: Reason): Promise<void> {
    this.#opening.get(instanceId)?.close();
    this.#sessions.get(instanceId)?.close();
    this.#sessions.delete(instanceId);
    return Promise.resolve();
  }

  /** Sessions that are open now. */
  get openSessions(): number {
    let open = 0;
    for (const session of this.#sessions.values()) if (!session.isClosed) open += 1;
    return open;
  }

  async #answersAfresh(instanceId: string, limitMs: number, signal: AbortSignal): Promise<boolean> {
    const endpoint = this.#ports.endpointOf(instanceId);
    if (endpoint === undefined) return false;
    const connection = this.#ports.dialler.dial(endpoint);
    try {
      await connection.options(limitMs, signal);
      return true;
    } catch {
      return false;
    } finally {
      connection.close();
      endpoint.release();
    }
  }

  /** Some plugins cannot bear a second ListAndWatch on one instance: their rule says how to go on (contract 3). */
  #attach(enrolment: Enrolment, instance: InstanceHandle, session: Session): void {
    const { reattach } = enrolment.policy;
    if (!enrolment.resumed || reattach === 'stream') {
      session.watch();
      return;
    }
    const isListKnown = this.#ports.lists.known(instance.id) !== undefined;
    if (reattach === 'probe' && isListKnown) {
      session.probe('list-unwatched', 'alive; its last list is kept, and no second stream is opened');
      return;
    }
    const moved = this.#recycle(enrolment);
    session.probe(
      moved ? 'recycled' : 'list-unwatched',
      moved
        ? 'its socket was moved aside, so that it registers afresh'
        : 'alive; its socket could not be moved aside now',
    );
  }

  #recycle(enrolment: Enrolment): boolean {
    const now = this.#ports.clock.mono();
    const last = this.#recycledAt.get(enrolment.name);
    if (last !== undefined && now - last < RECYCLE_EVERY_MS) return false;
    if (!this.#ports.mover.moveAside(enrolment.endpoint)) return false;
    this.#recycledAt.delete(enrolment.name);
    this.#recycledAt.set(enrolment.name, now);
    if (this.#recycledAt.size > MAX_RECYCLED) {
      for (const oldest of this.#recycledAt.keys()) {
        this.#recycledAt.delete(oldest);
        break;
      }
    }
    return true;
  }

  #sessionPorts(enrolment: Enrolment, instanceId: string): SessionPorts {
    const { dialler, lists, clock, random, nextTurn, settings } = this.#ports;
    return {
      dialler,
      lists,
      clock,
      random,
      nextTurn,
      pacer: this.#ports.openPacer(enrolment, instanceId),
      timeouts: settings().timeouts,
      get liveness() {
        return settings().liveness;
      },
      count: (what, by) => this.#ports.count(instanceId, what, by),
    };
  }
}
