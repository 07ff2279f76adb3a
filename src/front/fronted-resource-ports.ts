// The ports of one resource in front of the kubelet.
import type { Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/random.js';
import type { DeviceMethod } from '../model/device-use.js';
import type { FrontView } from '../model/front.js';
import type { FrontLimits } from './calls.js';
import type { KeptWaiting } from './kept-waiting.js';
import type { ListComposerPorts } from './list-composer.js';
import type { FrontedResources, FrontOwners, FrontWire, Kubelet, OpenSockets } from './ports.js';
import type { Registrations } from './registrations.js';
import type { Speculation } from './standing.js';
import type { ToldShares } from './told-shares.js';

/** How a call ended, for metrics. */
export type CallResult = 'ok' | 'failed';

/** The ports of one resource. */
export interface FrontedResourcePorts extends Pick<ListComposerPorts, 'composing'> {
  readonly resources: FrontedResources;
  readonly owners: FrontOwners;
  /** The ordinary user whose plugin speaks for a resource; undefined: it is root's, or the broker's own user's. */
  readonly userOf: (resource: string) => number | undefined;
  /** What the kubelet is told of the resources of such users: Front (front/front) has it. */
  readonly shares: ToldShares;
  readonly wire: FrontWire;
  readonly kubelet: Kubelet;
  readonly openSockets: OpenSockets;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: FrontLimits;
  /** Whether resources known before a reboot are offered: Front (front/front). */
  readonly speculation: () => Speculation;
  readonly usesRegistry: boolean;
  /** Shared by all resources. */
  readonly registrations: Registrations;
  /** Shared by all resources. */
  readonly keptWaiting: KeptWaiting;
  /** Told of each change of the state, with the user of the plugin: `FrontNews.resourceChanged` (front/front-news). */
  readonly changed: (resource: string, view: FrontView, uid: number | undefined) => void;
  /** BrokerMetrics.frontCall (platform/metrics/broker-metrics). */
  readonly called: (method: DeviceMethod, result: CallResult) => void;
  /** How long a call waited for its plugin: BrokerMetrics.frontGate (platform/metrics/broker-metrics). */
  readonly gateWaited: (seconds: number) => void;
}
