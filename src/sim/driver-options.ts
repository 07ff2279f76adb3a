// Options that simulated CSI and DRA drivers share.
import { faultParser, type Fault } from './device/faults.js';
import { DRIVER_LEAVES, type DriverLifeOptions } from './driver-life.js';
import { SPEECHES } from '../device-plugin/plugin-server.js';
import { count, option, time, type SimOption } from './sim-option.js';

/** The options of every simulated driver. */
export interface DriverSimOptions extends DriverLifeOptions {
  readonly driver: string;
  /** The directory of driver sockets, absolute. */
  readonly plugins: string;
  /** The registry directory, absolute. */
  readonly registry: string;
  readonly endpoint?: string;
  readonly fault: readonly Fault[];
}

/** Options about its name and paths; `plugins` and `registry` have no default: the caller knows the root. */
export function placeOptions(driver: string): readonly SimOption<keyof DriverSimOptions>[] {
  return [
    option('driver', 'name', 'driver name', { default: driver }),
    option('plugins', 'dir', 'directory of driver sockets'),
    option('registry', 'dir', 'registry directory'),
    option('endpoint', 'text', 'endpoint that GetInfo names, independent of the socket'),
  ];
}

/** Options about how it lives and misbehaves. */
export function lifeOptions(methods: readonly string[]): readonly SimOption<keyof DriverSimOptions>[] {
  return [
    time('serveDelay', 'make the service socket only after this', 0),
    time('crashEvery', 'lose the service socket and make it anew this often'),
    option('onNotifyFalse', 'act', 'its reaction to plugin_registered=false', {
      choices: ['retry', 'exit'],
      default: 'retry',
    }),
    option('leave', 'style', 'how it ends', { choices: DRIVER_LEAVES, default: 'clean' }),
    time('exitAfter', 'end by itself'),
    option('exitCode', 'code', 'exit code of that', { parse: count, default: 0 }),
    option(
      'fault',
      'method=act',
      'delay:500ms, never, garbage or status:CODE[:TEXT], with @N for the first N calls; may be repeated',
      { parse: faultParser([...methods, 'GetInfo', 'NotifyRegistrationStatus']), default: [] },
    ),
    option('speak', 'protocol', 'the protocol on the service socket', { choices: SPEECHES, default: 'grpc' }),
  ];
}
