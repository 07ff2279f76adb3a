// The handler of type CSIPlugin: asks a driver for its node info, and has that published for as long as the driver's registration
// socket stands.
import { sleep } from '../kernel/clock.js';
import { driverNameProblem } from '../model/driver-name.js';
import { CSI_PLUGIN } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import type { Accepted, Enrolment, InstanceHandle, InstanceReports, PluginHandler } from '../model/plugin.js';
import type { Reason, Refusal } from '../model/reasons.js';
import { CsiInstance, type CsiInstancePorts } from './csi-instance.js';
import { factsFrom, nodeInfoFrom } from './node-info.js';
import type { NodeInfoPublisher } from './node-info-publisher.js';
import { chooseVersion } from './version-rule.js';

/** The ports of the handler. */
export interface CsiHandlerPorts extends Pick<CsiInstancePorts, 'openClient' | 'clock' | 'random' | 'nodeGetInfoMs'> {
  readonly publisher: NodeInfoPublisher;
}

/** Publishing that is under way may take this long to come to an end, milliseconds. */
const STOP_MS = 300;

/** Reasons for which a driver's publication is taken back. Every other end leaves it. */
const TAKES_BACK: ReadonlySet<Reason> = new Set<Reason>(['socket-removed', 'grace-over', 'deregistered']);

/** Validate → Register → DeRegister for CSI drivers. */
export class CsiHandler implements PluginHandler {
  readonly type = CSI_PLUGIN;
  readonly coexist = false;
  readonly serialBy = 'plugin';
  readonly #publisher: NodeInfoPublisher;
  readonly #instancePorts: CsiInstancePorts;
  /** By instance id, oldest commit first. A closed one stays while its driver is published in its name. */
  readonly #instances = new Map<string, CsiInstance>();

  constructor({ publisher, ...ports }: CsiHandlerPorts) {
    this.#publisher = publisher;
    this.#instancePorts = {
      ...ports,
      conditionOf: (driver) => publisher.conditionOf(driver),
      infoChanged: (instance) => {
        if (this.#current(instance.driver) === instance && instance.info !== undefined)
          publisher.publish(instance.info);
      },
    };
    publisher.onCondition((driver) => this.#current(driver)?.report());
  }

  validate(name: string, versions: readonly string[]): Refusal | undefined {
    const wrong = driverNameProblem(name);
    if (wrong !== undefined)
      return { code: 'NAME_INVALID', message: `CSI driver name ${JSON.stringify(name.slice(0, 80))} ${wrong}` };
    if (chooseVersion(versions) !== undefined) return undefined;
    const offered = versions
      .slice(0, 8)
      .map((version) => JSON.stringify(version.slice(0, 64)))
      .join(', ');
    return {
      code: 'VERSION_UNSUPPORTED',
      message: `CSI driver ${name}: offered versions [${offered}] are not supported; supported versions are 1.x`,
    };
  }

  async register(enrolment: Enrolment, handle: InstanceHandle, signal: AbortSignal): Promise<Accepted> {
    const version = chooseVersion(enrolment.versions) ?? '';
    const instance = new CsiInstance(enrolment.name, handle, this.#instancePorts);
    try {
      const info = await instance.open(enrolment.endpoint, signal);
      this.#enter(instance);
      instance.commit();
      return { version, facts: factsFrom(info) };
    } catch (failure) {
      // A fallback that was asked in vain stays one: it is asked again, or let go of when nobody listens for it any more.
      instance.close();
      throw failure;
    }
  }

  /**
   * Takes a driver out of the checkpoint before it is dialled, so that it stays published until its socket is known to
   * be gone. Facts that cannot be read are passed over: the driver is asked again anyway.
   */
  restore(name: string, accepted: Accepted, handle: InstanceHandle): void {
    const info = nodeInfoFrom(name, accepted.facts);
    if (info === undefined) return;
    this.#enter(new CsiInstance(name, handle, this.#instancePorts, info));
  }

  /** Takes all drivers of the checkpoint out of it. */
  restoreAll(instances: Iterable<Instance>, reports: InstanceReports): void {
    for (const { id, type, name, version, facts, state } of instances) {
      if (type !== CSI_PLUGIN || state !== 'restored') continue;
      const handle: InstanceHandle = {
        id,
        report: (report) => reports.report(id, report),
        serving: () => reports.serving(id),
      };
      this.restore(name, { version, facts }, handle);
    }
  }

  async isAlive(instanceId: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#instances.get(instanceId)?.isAlive(signal)) ?? false;
  }

  renamed(instanceId: string, endpointPath: string): void {
    this.#instances.get(instanceId)?.renamed(endpointPath);
  }

  /**
   * Lets an instance go. A replaced one is remembered as fallback until it is deregistered a second time, when no process listens
   * on it any more; while there is a fallback, the publication of the last instance stays.
   */
  deregister(instanceId: string, reason: Reason): Promise<void> {
    const instance = this.#instances.get(instanceId);
    if (instance === undefined) return Promise.resolve();
    instance.close();
    if (reason === 'replaced' && !instance.isFallback) {
      instance.isFallback = true;
      // It may have been asked once more, and published.
      this.#settle(instance.driver);
      return Promise.resolve();
    }
    const wasCurrent = this.#current(instance.driver) === instance;
    const isOver = reason === 'replaced' || TAKES_BACK.has(reason);
    if (!wasCurrent || isOver) this.#instances.delete(instanceId);
    if (isOver) this.#settle(instance.driver);
    return Promise.resolve();
  }

  /** Closes all connections; publications stay, and a file that is being written may hang on its disk. */
  async stop(): Promise<void> {
    for (const instance of this.#instances.values()) instance.close();
    this.#instances.clear();
    await Promise.race([this.#publisher.stop(), sleep(this.#instancePorts.clock, STOP_MS)]);
  }

  #enter(instance: CsiInstance): void {
    const { handle, driver, info } = instance;
    this.#instances.get(handle.id)?.close();
    this.#instances.delete(handle.id);
    for (const other of [...this.#instances.values()])
      if (other.driver === driver && other.isClosed && !other.isFallback) this.#instances.delete(other.handle.id);
    this.#instances.set(handle.id, instance);
    if (info !== undefined) this.#publisher.publish(info);
  }

  /** An instance is over: its driver is published in the name of another, stays so for a fallback, or is taken back. */
  #settle(driver: string): void {
    const heir = this.#current(driver);
    if (heir?.info !== undefined) this.#publisher.publish(heir.info);
    else if (![...this.#instances.values()].some((one) => one.isFallback && one.driver === driver))
      this.#publisher.unpublish(driver);
  }

  /** The newest instance of a driver that was not replaced: its node info is published. */
  #current(driver: string): CsiInstance | undefined {
    let newest: CsiInstance | undefined;
    for (const instance of this.#instances.values())
      if (instance.driver === driver && !instance.isFallback) newest = instance;
    return newest;
  }
}
