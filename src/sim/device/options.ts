// All options of `sim device`. The groups are: its identity, its reports, its registration, its life with its registry, and its
// misbehaviour.
import { SPEECHES, type Speech } from '../../device-plugin/plugin-server.js';
import { WATCH_STYLES, type WatchStyle } from '../../device-plugin/registry-watch.js';
import { count, duration, wordsOf, type SimOption } from '../sim-option.js';
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
  {
    key: 'resource',
    flags: '--resource <name>',
    help: 'resource to register, or driver name',
    default: 'example.com/sim',
  },
  {
    key: 'door',
    flags: '--door <door>',
    help: 'call Register, or wait in the registry',
    choices: DOORS,
    default: 'register',
  },
  { key: 'dir', flags: '--dir <dir>', help: 'device plugin directory' },
  { key: 'registry', flags: '--registry <dir>', help: 'registry directory' },
  {
    key: 'kubeletSocket',
    flags: '--kubelet-socket <path>',
    help: 'socket to register with (default: kubelet.sock in --dir)',
  },
  {
    key: 'socketName',
    flags: '--socket-name <name>',
    help: 'file name of the plugin socket; {pid}, {time} and {n} make it new (default: made from the resource)',
  },
  {
    key: 'serviceSocket',
    flags: '--service-socket <path>',
    help: 'watcher door: serve the devices on this other socket',
  },
  {
    key: 'pluginType',
    flags: '--plugin-type <type>',
    help: 'watcher door: type that GetInfo names',
    default: 'DevicePlugin',
  },
  {
    key: 'apiVersion',
    flags: '--api-version <version>',
    help: 'version to offer; at the watcher door several, with commas',
    default: 'v1beta1',
  },
  { key: 'endpoint', flags: '--endpoint <text>', help: 'endpoint to name, independent of the socket' },
  { key: 'preStart', flags: '--pre-start', help: 'ask for PreStartContainer', default: false },
  { key: 'preferredAllocation', flags: '--preferred-allocation', help: 'offer GetPreferredAllocation', default: false },
  ...ALLOCATION_OPTIONS,

  { key: 'devices', flags: '--devices <count>', help: 'number of devices', parse: count, default: 2 },
  { key: 'idPrefix', flags: '--id-prefix <text>', help: 'device ids are this and a number', default: 'dev-' },
  { key: 'idBytes', flags: '--id-bytes <count>', help: 'pad device ids to this length', parse: count, default: 0 },
  {
    key: 'numa',
    flags: '--numa <count>',
    help: 'NUMA nodes that devices are spread over; 0 reports none',
    parse: count,
    default: 0,
  },
  {
    key: 'unhealthy',
    flags: '--unhealthy <count>',
    help: 'devices, from the last, that are unhealthy',
    parse: count,
    default: 0,
  },
  { key: 'flap', flags: '--flap <duration>', help: 'devices change their health this often', parse: duration },
  {
    key: 'flapDevices',
    flags: '--flap-devices <count>',
    help: 'how many devices do, from the first',
    parse: count,
    default: 1,
  },
  {
    key: 'updateEvery',
    flags: '--update-every <duration>',
    help: 'send a list this often; 0ms: as fast as it leaves',
    parse: duration,
  },
  {
    key: 'updates',
    flags: '--updates <kind>',
    help: 'whether these lists differ',
    choices: ['changed', 'equal'],
    default: 'changed',
  },
  { key: 'queue', flags: '--queue <count>', help: 'lists that may wait in the transport', parse: count, default: 1 },
  {
    key: 'endStreamAfter',
    flags: '--end-stream-after <lists>',
    help: 'end a list stream after so many lists',
    parse: count,
  },

  {
    key: 'serveDelay',
    flags: '--serve-delay <duration>',
    help: 'serve only this long after registering',
    parse: duration,
    default: 0,
  },
  {
    key: 'registerEvery',
    flags: '--register-every <duration>',
    help: 'register again and again; 0ms: without a pause',
    parse: duration,
  },
  {
    key: 'registerCount',
    flags: '--register-count <count>',
    help: 'stop registering after so many times',
    parse: count,
  },
  { key: 'fresh', flags: '--fresh', help: 'make a new socket before each of these', default: false },
  {
    key: 'registerTimeout',
    flags: '--register-timeout <duration>',
    help: 'deadline of Register',
    parse: duration,
    default: 30_000,
  },

  {
    key: 'watch',
    flags: '--watch <events>',
    help: `the events on which it registers again, with commas: ${WATCH_STYLES.join(', ')}`,
    parse: wordsOf(WATCH_STYLES),
    default: ['create', 'own-socket'],
  },
  {
    key: 'pollEvery',
    flags: '--poll-every <duration>',
    help: 'how often --watch poll looks for its socket',
    parse: duration,
    default: 1_000,
  },
  {
    key: 'onCue',
    flags: '--on-cue <act>',
    help: 'its reaction to such an event',
    choices: EVENT_ACTS,
    default: 'register',
  },
  {
    key: 'onRefused',
    flags: '--on-refused <act>',
    help: 'its reaction to a refused Register',
    choices: ANSWERS,
    default: 'retry',
  },
  {
    key: 'onNotifyFalse',
    flags: '--on-notify-false <act>',
    help: 'its reaction to plugin_registered=false',
    choices: ANSWERS,
    default: 'retry',
  },
  {
    key: 'retry',
    flags: '--retry <duration>',
    help: 'pause before a retry; a longer RetryInfo is respected, up to 10m',
    parse: duration,
    default: 1_000,
  },
  {
    key: 'secondWatch',
    flags: '--second-watch <act>',
    help: 'its reaction to a second ListAndWatch',
    choices: ['serve', 'crash'],
    default: 'serve',
  },
  {
    key: 'leave',
    flags: '--leave <style>',
    help: 'how it ends; goodbye sends an empty list first',
    choices: LEAVES,
    default: 'clean',
  },
  { key: 'exitAfter', flags: '--exit-after <duration>', help: 'end by itself', parse: duration },
  { key: 'exitCode', flags: '--exit-code <code>', help: 'exit code of that', parse: count, default: 0 },

  {
    key: 'fault',
    flags: '--fault <method=act>',
    help: 'delay:500ms, never, empty, garbage or status:CODE[:TEXT], with @N for the first N calls; may be repeated',
    parse: parseFault,
    default: [],
  },
  { key: 'speak', flags: '--speak <protocol>', help: 'the protocol on the socket', choices: SPEECHES, default: 'grpc' },
  {
    key: 'crashEvery',
    flags: '--crash-every <duration>',
    help: 'die and start again, with another pid and socket name',
    parse: duration,
  },
  {
    key: 'connectEvery',
    flags: '--connect-every <duration>',
    help: 'only open connections to the kubelet socket',
    parse: duration,
  },
  { key: 'connectHold', flags: '--connect-hold', help: 'keep these connections open', default: false },
];
