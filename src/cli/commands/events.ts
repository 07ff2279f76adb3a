// `events`
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { EVENT_TYPES, type BrokerEvent } from '../../model/event.js';
import { durationMs } from '../../kernel/duration.js';
import { compileGlob } from '../../platform/config/globs.js';
import { Unreachable } from '../../platform/grpc/admin-failure.js';
import { untilInterrupted } from '../exit.js';
import { eventLine } from '../output/event-line.js';
import { visibleJson } from '../output/text.js';
import { painter } from '../output/tones.js';
import { isGlob } from '../names.js';
import { clientOf, withAddress, withOutput, type AddressOptions, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Wait between two tries to follow a daemon that went away: it is local, and restarts in a fraction of a second. */
const RETRY_MS = 250;

interface EventOptions extends AddressOptions, OutputOptions {
  readonly follow?: boolean;
  readonly plugin?: string;
  readonly since: Since;
  readonly tail?: number;
  readonly type?: readonly string[];
}

/** From a sequence number on, or from so many milliseconds ago. */
type Since = { readonly seq: number } | { readonly agoMs: number };

/** Adds the command. */
export function addEvents(program: Command, terminal: Terminal): void {
  withOutput(withAddress(program.command('events')))
    .summary('the events, newest last')
    .description('Prints the events, newest last, with reason codes. With -o json, one JSON object a line.')
    .option('-f, --follow', 'go on with new events, across restarts of the daemon, until Ctrl-C')
    .option('--plugin <name>', 'only those of this plugin, or of those that match a glob')
    .addOption(
      new Option('--since <seq|duration>', 'only those with this sequence number or a later one, or of the last 10m')
        .argParser(since)
        .default({ seq: 0 }, 'all that are kept'),
    )
    .option('--tail <count>', 'of those that happened before, only the last so many', wholeNumber)
    .addOption(new Option('--type <types...>', 'only those of these types').choices(EVENT_TYPES))
    .action((options: EventOptions) =>
      options.follow === true
        ? untilInterrupted(terminal.interruption(), () => printEvents(options, terminal))
        : printEvents(options, terminal),
    );
}

async function printEvents(options: EventOptions, terminal: Terminal): Promise<void> {
  const client = clientOf(options, terminal);
  const signal = terminal.interruption();
  const paint = painter(terminal.hasColours);
  const follow = options.follow === true;
  const { plugin = '', tail } = options;
  const isWanted = filterOf(options, terminal.now());
  const print = (event: BrokerEvent): void =>
    terminal.write(options.output === 'json' ? `${visibleJson(event, true)}\n` : eventLine(event, true, paint));
  let since = 'seq' in options.since ? options.since.seq : 0;
  const asked = isGlob(plugin) ? '' : plugin;
  let reached = false;
  if (tail !== undefined || (plugin !== '' && !follow)) {
    const kept: BrokerEvent[] = [];
    let isKnown = false;
    for await (const event of client.events(since, asked, false)) {
      isKnown = true;
      since = event.seq + 1;
      if (isWanted(event)) kept.push(event);
    }
    if (plugin !== '' && !isGlob(plugin) && !isKnown && !follow) await client.explain(plugin, ''); // says that nobody has that name
    for (const event of tail === undefined ? kept : kept.slice(-tail)) print(event);
    if (!follow) return;
    reached = true;
  }
  let told = false;
  for (;;) {
    try {
      for await (const event of client.events(since, asked, follow)) {
        if (isWanted(event)) print(event);
        since = event.seq + 1;
        reached = true;
        told = false;
      }
      if (!follow) return;
      reached = true; // the broker ended the stream in order: it is stopping
    } catch (failure) {
      if (signal.aborted) throw signal.reason;
      if (!follow || !(failure instanceof Unreachable) || !(reached || failure.connectionLost)) throw failure;
      if (!told) terminal.complain(`${failure.message}; waiting for it`);
      told = true;
    }
    await pause(RETRY_MS, undefined, { signal });
  }
}

/** Which events are printed. */
function filterOf(options: EventOptions, now: number): (event: BrokerEvent) => boolean {
  const { type, plugin = '' } = options;
  const from = 'agoMs' in options.since ? now - options.since.agoMs : 0;
  const matches = isGlob(plugin) ? compileGlob(plugin, 'name') : undefined;
  return (event) =>
    Date.parse(event.time) >= from &&
    (type?.includes(event.type) ?? true) &&
    (matches === undefined || matches(event.plugin) || matches(event.plugin.slice(event.plugin.indexOf('/') + 1)));
}

function since(text: string): Since {
  const agoMs = durationMs(text);
  if (agoMs !== undefined) return { agoMs };
  const seq = Number(text);
  if (text !== '' && Number.isSafeInteger(seq) && seq >= 0) return { seq };
  throw new InvalidArgumentError('It must be a whole number from 0, or a time such as 30s, 10m or 2h.');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}
