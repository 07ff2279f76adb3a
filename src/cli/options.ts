// Options that several commands share.
import { homedir } from 'node:os';
import path from 'node:path';
import { Option, InvalidArgumentError, type Command } from 'commander';
import { LONGEST_ALARM_MS } from '../kernel/clock.js';
import { durationMs } from '../kernel/duration.js';
import { defaultRoot, LONGEST_SOCKET_PATH, rootOfEnvironment } from '../model/root.js';
import { AdminClient } from '../platform/grpc/admin-client.js';
import { ownUid } from '../platform/process/own-uid.js';
import { systemClock } from '../platform/time/system-clock.js';
import { CliError, EXIT } from './exit.js';
import { isForPrograms, type OutputFormat } from './output/format.js';
import type { Showing } from './output/watch.js';
import type { Terminal } from './terminal.js';

/** How to find the daemon. */
export interface AddressOptions {
  readonly root?: string;
  readonly address?: string;
}

/** How nearly every command can print. */
const OUTPUTS = ['table', 'json'] as const;

/** How to print. */
export interface OutputOptions<T extends string = (typeof OUTPUTS)[number]> {
  readonly output: T;
}

/** Whether to keep it on screen. */
export interface WatchOptions<T extends string = (typeof OUTPUTS)[number]> extends OutputOptions<T> {
  readonly watch?: boolean;
  readonly interval: number;
}

/** Adds --root. */
export function withRoot(command: Command): Command {
  return command.option(
    '--root <dir>',
    'root directory of the daemon (default: $PLUGIN_BROKER_ROOT, /var/lib/plugin-broker, or the state directory of the user)',
  );
}

/** Adds --root and --address. */
export function withAddress(command: Command): Command {
  return withRoot(command).option(
    '--address <socket>',
    'admin socket of the daemon (default: broker.sock in the root directory)',
  );
}

/** Adds -o. */
export function withOutput(command: Command, outputs: readonly string[] = OUTPUTS): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'for people or for programs').choices(outputs).default('table'),
  );
}

/** Output forms of lists of things with names. */
export const LIST_FORMATS = ['table', 'wide', 'name', 'yaml', 'json'] as const satisfies readonly OutputFormat[];

/** Adds -o, --watch and --interval. */
export function withWatch(command: Command, outputs?: readonly string[]): Command {
  return withOutput(command, outputs)
    .option('-w, --watch', 'keep it on screen until Ctrl-C')
    .option('--interval <seconds>', 'time between two looks with --watch', seconds, 1);
}

/** The result of --watch and -o. */
export function showing(options: WatchOptions<string>): Showing {
  return {
    watch: options.watch === true,
    intervalMs: options.interval * 1_000,
    isForPrograms: isForPrograms(options.output),
  };
}

/** The root directory that the options name. */
export function rootOf(options: AddressOptions): string {
  const given = options.root ?? rootOfEnvironment(process.env);
  if (given !== undefined) return path.resolve(given);
  return defaultRoot({ uid: ownUid(), home: homedir(), xdgStateHome: process.env['XDG_STATE_HOME'] });
}

/**
 * The socket that the options name, absolute.
 *
 * @param name of the file in the root directory
 * @throws CliError when the path cannot be the address of a socket
 */
export function socketOf(options: AddressOptions, what: 'admin' | 'allocator', name: string): string {
  const socket = options.address === undefined ? path.join(rootOf(options), name) : path.resolve(options.address);
  const length = Buffer.byteLength(socket);
  if (length <= LONGEST_SOCKET_PATH) return socket;
  const message = `the ${what} socket ${socket} has ${length} bytes, but a unix socket address holds ${LONGEST_SOCKET_PATH}; use a shorter --root or --address`;
  throw new CliError(EXIT.usage, message);
}

/**
 * The daemon that the options name.
 *
 * @param signal gives its calls up
 * @throws CliError as socketOf
 */
export function clientOf(
  options: AddressOptions,
  terminal: Terminal,
  signal: AbortSignal = terminal.interruption(),
): AdminClient {
  return new AdminClient(socketOf(options, 'admin', 'broker.sock'), systemClock, signal);
}

/** A duration such as 250ms, 30s, 5m or 1h, in milliseconds. */
export function durationOption(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as 250ms, 30s, 5m or 1h.');
  return Math.round(ms);
}

/** A duration for which a command waits. */
export function timeoutOption(text: string): number {
  const ms = durationOption(text);
  if (ms > LONGEST_ALARM_MS) throw new InvalidArgumentError('It must be at most 596h.');
  return ms;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 86_400)) throw new InvalidArgumentError('It must be a number from 0.1 to 86400.');
  return value;
}
