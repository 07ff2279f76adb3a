// Options that simulated CSI and DRA drivers share.
import { faultParser, type Fault } from './device/faults.js';
import { DRIVER_LEAVES, type DriverLifeOptions } from './driver-life.js';
import { SPEECHES } from '../device-plugin/plugin-server.js';
import { count, duration, type SimOption } from './sim-option.js';

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
    { key: 'driver', flags: '--driver <name>', help: 'driver name', default: driver },
    { key: 'plugins', flags: '--plugins <dir>', help: 'directory of driver sockets' },
    { key: 'registry', flags: '--registry <dir>', help: 'registry directory' },
    { key: 'endpoint', flags: '--endpoint <text>', help: 'endpoint that GetInfo names, independent of the socket' },
  ];
}

/** Options about how it lives and misbehaves. */
export function lifeOptions(methods: readonly string[]): readonly SimOption<keyof DriverSimOptions>[] {
  return [
    {
      key: 'serveDelay',
      flags: '--serve-delay <duration>',
      help: 'make the service socket only after this',
      parse: duration,
      default: 0,
    },
    {
      key: 'crashEvery',
      flags: '--crash-every <duration>',
      help: 'lose the service socket and make it anew this often',
      parse: duration,
    },
    {
      key: 'onNotifyFalse',
      flags: '--on-notify-false <act>',
      help: 'its reaction to plugin_registered=false',
      choices: ['retry', 'exit'],
      default: 'retry',
    },
    { key: 'leave', flags: '--leave <style>', help: 'how it ends', choices: DRIVER_LEAVES, default: 'clean' },
    { key: 'exitAfter', flags: '--exit-after <duration>', help: 'end by itself', parse: duration },
    { key: 'exitCode', flags: '--exit-code <code>', help: 'exit code of that', parse: count, default: 0 },
    {
      key: 'fault',
      flags: '--fault <method=act>',
      help: 'delay:500ms, never, garbage or status:CODE[:TEXT], with @N for the first N calls; may be repeated',
      parse: faultParser([...methods, 'GetInfo', 'NotifyRegistrationStatus']),
      default: [],
    },
    {
      key: 'speak',
      flags: '--speak <protocol>',
      help: 'the protocol on the service socket',
      choices: SPEECHES,
      default: 'grpc',
    },
  ];
}
