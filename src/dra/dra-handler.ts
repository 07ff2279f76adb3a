// The handler of type DRAPlugin: several endpoints may serve one driver at once, as a rolling update needs
// it, and the state of each follows the connection to its service socket. ResourceSlices are not touched.
import type { Clock } from '../kernel/clock.js';
import { driverNameProblem } from '../model/driver-name.js';
import { DRA_PLUGIN } from '../model/ids.js';
import type { Accepted, Enrolment, InstanceHandle, PinnedSocket, PluginHandler } from '../model/plugin.js';
import type { Reason, Refusal } from '../model/reasons.js';
import type { ServiceListener } from '../model/service-listener.js';

/**
 * A connection to the service socket of a DRA driver that comes back by itself, by path, when the driver restarts: `draConnections`
 * (platform/grpc/dra-connection) opens it.
 */
export interface DraServiceConnection {
  /** The same socket is found by another path from now on. */
  renamed(path: string): void;
  /** Ends it; the listener hears nothing more. Idempotent. */
  close(): void;
}

/**
 * Opens connections, first to exactly the socket that was pinned. Takes a hold of its own on the pin. `draConnections`
 * (platform/grpc/dra-connection) does.
 */
export type OpenDraServiceConnection = (endpoint: PinnedSocket, listener: ServiceListener) => DraServiceConnection;

/** The services supported here, best first. */
const DRA_SERVICES = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const;

/**
 * The best service that the driver offers. The kubelet takes the first of the driver's list;
 * a driver that lists an older one first gets the newer one here.
 */
export function chooseService(offered: readonly string[]): string | undefined {
  return DRA_SERVICES.find((service) => offered.includes(service));
}

/** The ports of the handler. */
export interface DraHandlerPorts {
  readonly openConnection: OpenDraServiceConnection;
  readonly clock: Clock;
}

/** One registered endpoint of a driver. */
interface Instance {
  connection: DraServiceConnection | undefined;
  isUp: boolean;
}

/** Validate → Register → DeRegister for DRA drivers. */
export class DraHandler implements PluginHandler {
  readonly type = DRA_PLUGIN;
  readonly coexist = true;
  readonly serialBy = 'incarnation';
  readonly #ports: DraHandlerPorts;
  /** By instance id, oldest registration first. */
  readonly #instances = new Map<string, Instance>();

  constructor(ports: DraHandlerPorts) {
    this.#ports = ports;
  }

  validate(name: string, versions: readonly string[]): Refusal | undefined {
    const wrong = driverNameProblem(name);
    if (wrong !== undefined) {
      return { code: 'NAME_INVALID', message: `DRA driver name ${JSON.stringify(name.slice(0, 80))} ${wrong}` };
    }
    if (chooseService(versions) !== undefined) return undefined;
    const offered = versions.slice(0, 8).map((version) => JSON.stringify(version.slice(0, 64)));
    return {
      code: 'VERSION_UNSUPPORTED',
      message: `DRA driver ${name}: offered services [${offered.join(', ')}] are not supported; supported services are [${DRA_SERVICES.join(', ')}]`,
    };
  }

  /** Succeeds whether or not the service socket is up yet, as with the kubelet; its state says so afterwards. */
  register(enrolment: Enrolment, handle: InstanceHandle): Promise<Accepted> {
    const service = chooseService(enrolment.versions) ?? '';
    const instance: Instance = { connection: undefined, isUp: false };
    this.#instances.get(handle.id)?.connection?.close();
    this.#instances.delete(handle.id);
    this.#instances.set(handle.id, instance);
    // The first word comes once the caller has heard of the registration, not in the middle of it.
    const report = (tell: () => void): void =>
      void this.#ports.clock.alarm(0, () => {
        if (this.#instances.get(handle.id) === instance) tell();
      });
    let hasToldLoss = false;
    instance.connection = this.#ports.openConnection(enrolment.endpoint, {
      up: () => {
        instance.isUp = true;
        if (hasToldLoss)
          report(() =>
            handle.report({ state: 'ready', reason: 'registered', message: `DRA driver ${enrolment.name} serves` }),
          );
        hasToldLoss = false;
      },
      lost: (details) => {
        instance.isUp = false;
        if (hasToldLoss) return;
        hasToldLoss = true;
        const message = `the service socket of DRA driver ${enrolment.name} does not answer (${details}); its registration stays`;
        report(() => handle.report({ state: 'held', reason: 'service-lost', message }));
      },
    });
    report(() => handle.serving());
    return Promise.resolve({ version: service, facts: {} });
  }

  isAlive(instanceId: string): Promise<boolean> {
    return Promise.resolve(this.#instances.get(instanceId)?.isUp ?? false);
  }

  renamed(instanceId: string, endpointPath: string): void {
    this.#instances.get(instanceId)?.connection?.renamed(endpointPath);
  }

  deregister(instanceId: string, _reason: Reason): Promise<void> {
    this.#instances.get(instanceId)?.connection?.close();
    this.#instances.delete(instanceId);
    return Promise.resolve();
  }

  /** Closes all connections. */
  stop(): void {
    for (const instance of this.#instances.values()) instance.connection?.close();
    this.#instances.clear();
  }
}
