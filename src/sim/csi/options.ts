// Everything that can be said to `sim csi`.
import { lifeOptions, placeOptions, type DriverSimOptions } from '../driver-options.js';
import { count, type SimOption } from '../sim-option.js';

/** The options of a simulated CSI driver; durations are milliseconds. */
export interface CsiSimOptions extends DriverSimOptions {
  /** The service socket; `<plugins>/<driver>/csi.sock` when it is not named. */
  readonly socket?: string;
  readonly vendorVersion: string;
  readonly nodeId: string;
  /** The node id is padded to this many bytes. */
  readonly nodeIdBytes: number;
  /** Text, because drivers send more than a number holds. */
  readonly maxVolumes: string;
  readonly topology: Readonly<Record<string, string>>;
  readonly notReady: boolean;
  /** Serve a registration socket, too, instead of leaving it to a registrar. */
  readonly register: boolean;
  readonly pluginType: string;
  readonly apiVersion: string;
}

/** The options in the order in which help shows them. */
export const CSI_SIM_OPTIONS: readonly SimOption<keyof CsiSimOptions>[] = [
  ...placeOptions('csi.sim.example.com'),
  { key: 'socket', flags: '--socket <path>', help: 'service socket (default: csi.sock in a directory of its own)' },
  { key: 'vendorVersion', flags: '--vendor-version <text>', help: 'version of the driver', default: '1.0.0-sim' },
  { key: 'nodeId', flags: '--node-id <text>', help: 'node id that NodeGetInfo answers', default: 'sim-node' },
  { key: 'nodeIdBytes', flags: '--node-id-bytes <count>', help: 'pad it to this length', parse: count, default: 0 },
  {
    key: 'maxVolumes',
    flags: '--max-volumes <count>',
    help: 'max_volumes_per_node, any 64-bit number',
    parse: longNumber,
    default: '0',
  },
  {
    key: 'topology',
    flags: '--topology <key=value>',
    help: 'a topology segment; may be repeated',
    parse: segment,
    default: {},
  },
  { key: 'notReady', flags: '--not-ready', help: 'answer Probe with ready=false', default: false },
  { key: 'register', flags: '--register', help: 'register without a registrar', default: false },
  { key: 'pluginType', flags: '--plugin-type <type>', help: 'type that GetInfo names', default: 'CSIPlugin' },
  { key: 'apiVersion', flags: '--api-version <versions>', help: 'versions to offer, with commas', default: '1.0.0' },
  ...lifeOptions(['GetPluginInfo', 'GetPluginCapabilities', 'Probe', 'NodeGetInfo', 'NodeGetCapabilities']),
];

function longNumber(text: string): string {
  if (!/^-?\d{1,19}$/.test(text)) throw new Error(`${text} is no 64-bit number`);
  return text;
}

function segment(text: string, before: unknown): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals === -1) throw new Error(`${text} is not KEY=VALUE`);
  return { ...(before as Record<string, string>), [text.slice(0, equals)]: text.slice(equals + 1) };
}
