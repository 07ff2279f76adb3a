// Everything that can be said to `sim kubelet`.
import { faultParser, type Fault } from '../device/faults.js';
import { flag, option, time, type SimOption } from '../sim-option.js';

/** The options of a simulated kubelet; durations are milliseconds, paths absolute. */
export interface KubeletSimOptions {
  /** The device plugin directory: kubelet.sock, plugin sockets, the kubelet's own checkpoint. */
  readonly dir: string;
  /** The registry directory. */
  readonly registry: string;
  /** Directory of the PodResources socket. */
  readonly podResources: string;
  /** File that stands for the API server and the container runtime: pods, their phases, running containers. */
  readonly node?: string;
  /** The containers of the node file are gone, as after a reboot of the machine. */
  readonly reboot: boolean;
  /** From kubelet.sock to the first admission; drawn from measured values when it is not given. */
  readonly admitAfter?: number;
  readonly startRetry: number;
  readonly statusEvery: number;
  readonly capacityGrace: number;
  readonly fault: readonly Fault[];
}

/** The methods that can be disturbed: those that plugins and observers call. */
const METHODS = ['Register', 'List', 'Get', 'GetAllocatableResources'] as const;

/** The options in the order in which help shows them. The directories have no default: the caller knows the root. */
export const KUBELET_SIM_OPTIONS: readonly SimOption<keyof KubeletSimOptions>[] = [
  option('dir', 'dir', 'device plugin directory'),
  option('registry', 'dir', 'registry directory'),
  option('podResources', 'dir', 'directory of the PodResources socket'),
  option('node', 'file', 'pods and running containers, kept over restarts (default: node.json beside --dir)'),
  flag('reboot', 'all containers of that file have ended'),
  time('admitAfter', 'admit pods this long after kubelet.sock is there (default: 25 to 99 ms, as measured)'),
  time('startRetry', 'pause before a container whose PreStartContainer failed is tried again', 10_000),
  time('statusEvery', 'how often the node status is updated', 10_000),
  time('capacityGrace', 'how long the capacity of a plugin that has gone is kept', 300_000),
  option(
    'fault',
    'method=act',
    `delay:500ms, never or status:CODE[:TEXT] for ${METHODS.join(', ')}, with @N for the first N calls; may be repeated`,
    { parse: faultParser(METHODS), default: [] },
  ),
];
