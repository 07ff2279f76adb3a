// `events`
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { Unreachable } from '../../platform/grpc/admin-failure.js';
import { untilInterrupted } from '../exit.js';
import { eventLine } from '../output/event-line.js';
import { visibleJson } from '../output/text.js';
import { painter } from '../output/tones.js';
import { clientOf, withAddress, withOutput, type AddressOptions, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Wait between two tries to follow a daemon that went away: it is local, and restarts in a fraction of a second. */
const RETRY_MS = 250;

interface EventOptions extends AddressOptions, OutputOptions {
  readonly follow?: boolean;
  readonly plugin?: string;
  readonly since: number;
}

/** Adds the command. */
export function addEvents(program: Command, terminal: Terminal): void {
  withOutput(withAddress(program.command('events')))
    .summary('what happened, newest last')
    .description('Prints what happened, newest last, with reason codes. With -o json, one JSON object a line.')
    .option('-f, --follow', 'go on with what happens, across restarts of the daemon, until Ctrl-C')
    .option('--plugin <name>', 'only those of this plugin')
    .option('--since <seq>', 'only those with this sequence number or a later one', sequenceNumber, 0)
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
  let since = options.since;
  let reached = false;
  let told = false;
  for (;;) {
    try {
      for await (const event of client.events(since, options.plugin ?? '', follow)) {
        terminal.write(options.output === 'json' ? `${visibleJson(event, true)}\n` : eventLine(event, true, paint));
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

function sequenceNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('It must be a whole number from 0.');
  return value;
}
