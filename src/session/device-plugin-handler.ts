// The handler of type DevicePlugin: one session per instance.
import type { Alarm } from '../kernel/clock.js';
import type { DeviceCalls, DevicePlugins } from '../model/device-use.js';
import { DEVICE_PLUGIN, DEVICE_PLUGIN_VERSION } from '../model/ids.js';
import type { Accepted, EndpointSource, Enrolment, InstanceHandle, PluginHandler } from '../model/plugin.js';
import { Refused, type Reason, type Refusal } from '../model/reasons.js';
import type { SocketRemover } from './ports.js';
import { Recycling } from './recycling.js';
import { checkResourceName } from './resource-name.js';
import { Session, type SessionPorts } from './session.js';
import type { ListPacing } from '../model/flood.js';

/** The API versions that register; the kubelet, too, compares each for equality. */
const SUPPORTED_VERSIONS = [DEVICE_PLUGIN_VERSION] as const;

/** How long the incumbent has to prove that it lives (duplicates: keep-alive). */
const ALIVE_WITHIN_MS = 1000;

/** The ports of the handler. */
export interface DevicePluginPorts extends Omit<SessionPorts, 'pacer'> {
  readonly remover: SocketRemover;
  readonly endpoints: EndpointSource;
  readonly pacing: ListPacing;
}

/** Validate → Register → DeRegister for device plugins. */
export class DevicePluginHandler implements PluginHandler, DevicePlugins {
  readonly type = DEVICE_PLUGIN;
  readonly coexist = false;
  readonly serialBy = 'incarnation';
  readonly #ports: DevicePluginPorts;
  readonly #sessions = new Map<string, Session>();
  /** Sessions whose plugin has not answered yet. */
  readonly #opening = new Map<string, Session>();
  readonly #recycling: Recycling;
  /** Instances whose socket is removed as soon as that may be done again. */
  readonly #recycledLater = new Map<string, Alarm>();

  constructor(ports: DevicePluginPorts) {
    this.#ports = ports;
    this.#recycling = new Recycling(ports.remover, ports.clock);
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
    const session = new Session(enrolment, instance, {
      ...this.#ports,
      pacer: this.#ports.pacing.openPacer(enrolment),
    });
    this.#opening.set(instance.id, session);
    let options;
    try {
      options = await session.open(signal);
      if (session.isClosed) {
        const message = `${enrolment.name} at ${enrolment.endpointAsSent} was let go of while it was being registered`;
        throw new Refused({ code: 'OPTIONS_FAILED', message });
      }
    } catch (failure) {
      session.close();
      throw failure;
    } finally {
      this.#opening.delete(instance.id);
    }
    // Make before break, for a second session on the same incarnation too.
    this.#closeSession(instance.id);
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
    this.#closeSession(instanceId);
    this.#sessions.delete(instanceId);
    return Promise.resolve();
  }

  /** The calls about using devices, over the open session of an instance; undefined without one. */
  callsOf(instanceId: string): DeviceCalls | undefined {
    const session = this.#sessions.get(instanceId);
    return session?.isClosed === false ? session.calls : undefined;
  }

  /** Sessions that are open now. */
  get openSessions(): number {
    let open = 0;
    for (const session of this.#sessions.values()) if (!session.isClosed) open += 1;
    return open;
  }

  async #answersAfresh(instanceId: string, limitMs: number, signal: AbortSignal): Promise<boolean> {
    const endpoint = this.#ports.endpoints.forAsking(instanceId);
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

  /** Some plugins cannot bear a second ListAndWatch on one instance: their rule says how to go on. */
  #attach(enrolment: Enrolment, instance: InstanceHandle, session: Session): void {
    const { reattach } = enrolment.policy;
    if (session.isClosed) return;
    if (!enrolment.resumed || reattach === 'stream') {
      session.watch();
      return;
    }
    const isListKnown = this.#ports.lists.known(instance.id) !== undefined;
    if (reattach === 'probe' && isListKnown) {
      session.probe('list-unwatched', 'alive; its last list is kept, and no second stream is opened');
      return;
    }
    const not = this.#recycling.recycle(enrolment);
    if (not === undefined) {
      session.probe('recycled', 'its socket was removed, so that it registers afresh');
      return;
    }
    const message = `alive; its last list is kept, and its socket is not removed so that it registers afresh: ${not.why}`;
    session.probe('list-unwatched', message);
    if (not.againInMs === undefined) return;
    const again = this.#ports.clock.alarm(not.againInMs, () => {
      this.#recycledLater.delete(instance.id);
      this.#attach(enrolment, instance, session);
    });
    this.#recycledLater.set(instance.id, again);
  }

  #closeSession(instanceId: string): void {
    this.#recycledLater.get(instanceId)?.cancel();
    this.#recycledLater.delete(instanceId);
    this.#sessions.get(instanceId)?.close();
  }
}
