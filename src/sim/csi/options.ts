// Everything that can be said to `sim csi`.
import { lifeOptions, placeOptions, type DriverSimOptions } from '../driver-options.js';
import { amount, flag, option, type SimOption } from '../sim-option.js';

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
  option('socket', 'path', 'service socket (default: csi.sock in a directory of its own)'),
  option('vendorVersion', 'text', 'version of the driver', { default: '1.0.0-sim' }),
  option('nodeId', 'text', 'node id that NodeGetInfo answers', { default: 'sim-node' }),
  amount('nodeIdBytes', 'pad it to this length', 0),
  option('maxVolumes', 'count', 'max_volumes_per_node, any 64-bit number', { parse: longNumber, default: '0' }),
  option('topology', 'key=value', 'a topology segment; may be repeated', { parse: segment, default: {} }),
  flag('notReady', 'answer Probe with ready=false'),
  flag('register', 'register without a registrar'),
  option('pluginType', 'type', 'type that GetInfo names', { default: 'CSIPlugin' }),
  option('apiVersion', 'versions', 'versions to offer, with commas', { default: '1.0.0' }),
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
