// All options of `sim device`. The groups are: its identity, its reports, its registration, its life with its registry, and its
// misbehaviour.
import { SPEECHES, type Speech } from '../../device-plugin/plugin-server.js';
import { WATCH_STYLES, type WatchStyle } from '../../device-plugin/registry-watch.js';
import { amount, count, flag, option, time, wordsOf, type SimOption } from '../sim-option.js';
import { ALLOCATION_OPTIONS, type AllocationOptions } from './allocation-options.js';
import { parseFault, type Fault } from './faults.js';

const DOORS = ['register', 'watcher'] as const;
const ANSWERS = ['retry', 'exit', 'hang'] as const;
const EVENT_ACTS = ['register', 'restart', 'exit'] as const;
const LEAVES = ['clean', 'goodbye', 'abrupt'] as const;

/** The options of a simulated device plugin; durations are milliseconds. */
export interface DeviceSimOptions extends AllocationOptions {
  readonly resource: string;
  readonly door: (typeof DOORS)[number];
  /** The device plugin directory, absolute. */
  readonly dir: string;
  /** The registry directory, absolute. */
  readonly registry: string;
  /** The socket to register with; kubelet.sock in `dir` when it is not named. */
  readonly kubeletSocket?: string;
  readonly socketName?: string;
  readonly serviceSocket?: string;
  readonly pluginType: string;
  readonly apiVersion: string;
  readonly endpoint?: string;
  readonly preStart: boolean;
  readonly preferredAllocation: boolean;

  readonly devices: number;
  readonly idPrefix: string;
  readonly idBytes: number;
  readonly numa: number;
  readonly unhealthy: number;
  readonly flap?: number;
  readonly flapDevices: number;
  readonly updateEvery?: number;
  readonly updates: 'changed' | 'equal';
  readonly queue: number;
  readonly endStreamAfter?: number;

  readonly serveDelay: number;
  readonly registerEvery?: number;
  readonly registerCount?: number;
  readonly fresh: boolean;
  readonly registerTimeout: number;

  readonly watch: readonly WatchStyle[];
  readonly pollEvery: number;
  readonly onCue: (typeof EVENT_ACTS)[number];
  readonly onRefused: (typeof ANSWERS)[number];
  readonly onNotifyFalse: (typeof ANSWERS)[number];
  readonly retry: number;
  readonly secondWatch: 'serve' | 'crash';
  readonly leave: (typeof LEAVES)[number];
  readonly exitAfter?: number;
  readonly exitCode: number;

  readonly fault: readonly Fault[];
  readonly speak: Speech;
  readonly crashEvery?: number;
  readonly connectEvery?: number;
  readonly connectHold: boolean;
}

/** The options in the order in which help shows them. `dir` and `registry` have no default: the caller knows the root. */
export const DEVICE_SIM_OPTIONS: readonly SimOption<keyof DeviceSimOptions>[] = [
  option('resource', 'name', 'resource to register, or driver name', { default: 'example.com/sim' }),
  option('door', 'door', 'call Register, or wait in the registry', { choices: DOORS, default: 'register' }),
  option('dir', 'dir', 'device plugin directory'),
  option('registry', 'dir', 'registry directory'),
  option('kubeletSocket', 'path', 'socket to register with (default: kubelet.sock in --dir)'),
  option(
    'socketName',
    'name',
    'file name of the plugin socket; {pid}, {time} and {n} make it new (default: made from the resource)',
  ),
  option('serviceSocket', 'path', 'watcher door: serve the devices on this other socket'),
  option('pluginType', 'type', 'watcher door: type that GetInfo names', { default: 'DevicePlugin' }),
  option('apiVersion', 'version', 'version to offer; at the watcher door several, with commas', { default: 'v1beta1' }),
  option('endpoint', 'text', 'endpoint to name, independent of the socket'),
  flag('preStart', 'ask for PreStartContainer'),
  flag('preferredAllocation', 'offer GetPreferredAllocation'),
  ...ALLOCATION_OPTIONS,

  amount('devices', 'number of devices', 2),
  option('idPrefix', 'text', 'device ids are this and a number', { default: 'dev-' }),
  amount('idBytes', 'pad device ids to this length', 0),
  amount('numa', 'NUMA nodes that devices are spread over; 0 reports none', 0),
  amount('unhealthy', 'devices, from the last, that are unhealthy', 0),
  time('flap', 'devices change their health this often'),
  amount('flapDevices', 'how many devices do, from the first', 1),
  time('updateEvery', 'send a list this often; 0ms: as fast as it leaves'),
  option('updates', 'kind', 'whether these lists differ', { choices: ['changed', 'equal'], default: 'changed' }),
  amount('queue', 'lists that may wait in the transport', 1),
  option('endStreamAfter', 'lists', 'end a list stream after so many lists', { parse: count }),

  time('serveDelay', 'serve only this long after registering', 0),
  time('registerEvery', 'register again and again; 0ms: without a pause'),
  amount('registerCount', 'stop registering after so many times'),
  flag('fresh', 'make a new socket before each of these'),
  time('registerTimeout', 'deadline of Register', 30_000),

  option('watch', 'events', `the events on which it registers again, with commas: ${WATCH_STYLES.join(', ')}`, {
    parse: wordsOf(WATCH_STYLES),
    default: ['create', 'own-socket'],
  }),
  time('pollEvery', 'how often --watch poll looks for its socket', 1_000),
  option('onCue', 'act', 'its reaction to such an event', { choices: EVENT_ACTS, default: 'register' }),
  option('onRefused', 'act', 'its reaction to a refused Register', { choices: ANSWERS, default: 'retry' }),
  option('onNotifyFalse', 'act', 'its reaction to plugin_registered=false', { choices: ANSWERS, default: 'retry' }),
  time('retry', 'pause before a retry; a longer RetryInfo is respected, up to 10m', 1_000),
  option('secondWatch', 'act', 'its reaction to a second ListAndWatch', {
    choices: ['serve', 'crash'],
    default: 'serve',
  }),
  option('leave', 'style', 'how it ends; goodbye sends an empty list first', { choices: LEAVES, default: 'clean' }),
  time('exitAfter', 'end by itself'),
  option('exitCode', 'code', 'exit code of that', { parse: count, default: 0 }),

  option(
    'fault',
    'method=act',
    'delay:500ms, never, empty, garbage or status:CODE[:TEXT], with @N for the first N calls; may be repeated',
    { parse: parseFault, default: [] },
  ),
  option('speak', 'protocol', 'the protocol on the socket', { choices: SPEECHES, default: 'grpc' }),
  time('crashEvery', 'die and start again, with another pid and socket name'),
  time('connectEvery', 'only open connections to the kubelet socket'),
  flag('connectHold', 'keep these connections open'),
];
