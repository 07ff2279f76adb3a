// Where a resource stands towards a kubelet.

/** All states. */
export const FRONT_STATES = [
  'off',
  'no-kubelet',
  'registering',
  'fronted',
  'refused',
  'too-large',
  'speculating',
] as const;
/**
 * off: the kubelet is told nothing of it · no-kubelet: there is no kubelet.sock · registering · fronted: the kubelet follows its
 * list · refused: another plugin or broker has it, the kubelet said no, or no socket may be served from its directory · too-large:
 * its list is larger than a kubelet takes, or than the share of its user · speculating: the kubelet is told the list from before a reboot.
 */
export type FrontState = (typeof FRONT_STATES)[number];

/** The words for a resource that is not (yet) with the consumer that the configuration names. */
export const STAYS_WITH = 'it stays with';

/** Tags, lengths and the node of one entry in an answer of PodResources, in octets, beside the names of a resource and a device. */
export const ENTRY_OCTETS = 24;
/**
 * NUMA nodes that a device of an ordinary user may name. A kubelet's PodResources has an entry for each node of each device. The Topology
 * Manager of a kubelet takes a machine of no more (max-allowable-numa-nodes).
 */
export const MOST_NODES = 8;

/** How one resource stands. */
export interface FrontView {
  readonly state: FrontState;
  /** A sentence, or empty. */
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** The devices that the kubelet was told of. */
  readonly told: { readonly healthy: number; readonly unhealthy: number };
}

/** Standing before a kubelet. */
export interface FrontSettings {
  readonly enabled: boolean;
  /** The kubelet's directory, absolute: its device-plugins, plugins_registry, plugins and pod-resources are below it. */
  readonly kubeletDir: string;
  /** `both`: Register and the kubelet's registry; `register`: Register alone, where the registry is elsewhere. */
  readonly doors: 'both' | 'register';
  /** Globs of resource names: one of `resources` must match, none of `exclude`. */
  readonly resources: readonly string[];
  readonly exclude: readonly string[];
  /** How long Allocate waits for a plugin that is away. */
  readonly holdMs: number;
  /** Whether the kubelet is told the lists from before a reboot, behind the gate at PreStartContainer; and for how long. */
  readonly speculate: 'off' | 'gated';
  readonly speculateForMs: number;
}
