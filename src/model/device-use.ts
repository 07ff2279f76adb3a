// The use of devices: the offers of plugins under the name of a resource, and the calls to them, for the two parts that give
// devices out (leases, and the front of a kubelet).
import type { Holding } from './device-list.js';
import type { Instance } from './instance.js';
import type { PluginAnswer } from './lease.js';

/** The answer of GetDevicePluginOptions. */
export interface DeviceOptions {
  readonly preStartRequired: boolean;
  readonly preferredAllocationAvailable: boolean;
}

/** The plugin's answer when it was asked for its options, now or before a restart: its handler keeps it as facts. */
export function optionsOf({ preStartRequired, preferredAllocationAvailable }: Instance['facts']): DeviceOptions {
  return {
    preStartRequired: preStartRequired === true,
    preferredAllocationAvailable: preferredAllocationAvailable === true,
  };
}

/** The calls of a kubelet that are passed on to a plugin. */
export type DeviceMethod = 'Allocate' | 'GetPreferredAllocation' | 'PreStartContainer';

/** The request of GetPreferredAllocation. */
export interface PreferredQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

/** Does work now, and counts the time that it takes. Returns what it returns. */
export type Counted = <T>(work: () => T) => T;

/**
 * The calls about using devices: `deviceCalls` (platform/grpc/plugin-calls). All reject with FailedCall, an answer that cannot be
 * decoded included.
 */
export interface DeviceCalls {
  /** Passes a request on as bytes, for a caller between a kubelet and the plugin. */
  call(method: DeviceMethod, request: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer>;
  /**
   * Allocate for one container. An answer for no container is a failure.
   *
   * @param counted decodes the answer and counts the time; absent: the time is not counted
   */
  allocate(ids: readonly string[], limitMs: number, signal: AbortSignal, counted?: Counted): Promise<PluginAnswer>;
  /**
   * The devices that the plugin would choose; not checked, and empty when it has no preference.
   *
   * @param counted decodes the answer and counts the time; absent: the time is not counted
   */
  preferred(
    question: PreferredQuestion,
    limitMs: number,
    signal: AbortSignal,
    counted?: Counted,
  ): Promise<readonly string[]>;
  preStart(ids: readonly string[], limitMs: number, signal: AbortSignal): Promise<void>;
}

/** Plugins that are connected now. DevicePluginHandler (session/device-plugin-handler) has them. */
export interface DevicePlugins {
  /** Calls over the open session of an instance; undefined without one. */
  callsOf(instanceId: string): DeviceCalls | undefined;
  /** Whether the plugin answers GetDevicePluginOptions within a second. */
  isAlive(instanceId: string, signal: AbortSignal): Promise<boolean>;
}

/** The instance that speaks for a resource. */
export interface Served {
  readonly instance: Instance;
  /** Its newest list; undefined while it has not said which devices it has. */
  readonly list: Holding | undefined;
}

/** The present offers of plugins: OfferedResources (inventory/offered). */
export interface ServedResources {
  /** Resources of which a list is held. */
  names(): ReadonlySet<string>;
  /** Undefined: nobody has ever offered it, or it is gone. */
  of(resource: string): Served | undefined;
}
