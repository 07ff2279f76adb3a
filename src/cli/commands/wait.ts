// `wait --for …`: so that scripts need not ask again and again.
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { PLUGIN_STATES } from '../../model/plugin.js';
import type { StatusView } from '../../model/views.js';
import type { AdminClient } from '../../platform/grpc/admin-client.js';
import { AdminFailure, Unreachable, unreachableBecause } from '../../platform/grpc/admin-failure.js';
import { CliError, EXIT } from '../exit.js';
import { clientOf, socketOf, timeoutOption, withAddress, type AddressOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** From one look to the next: a look costs the daemon well under a millisecond. */
const LOOK_MS = 200;

/** A look has so long, however short the time is; a daemon that hangs is not waited for longer. */
const LEAST_MS = 1000;

/** Phases that may be waited for; waiting for any other word would never end. */
const PHASES: readonly StatusView['broker']['phase'][] = ['restoring', 'ready', 'degraded', 'stopping'];

/** One awaited condition: the phase of the broker, or the state of a plugin or resource. */
interface Condition {
  readonly of: 'phase' | 'plugin' | 'resource';
  readonly name: string;
  readonly is: string;
}

interface WaitCommandOptions extends AddressOptions {
  readonly for: readonly Condition[];
  readonly timeout: number;
}

/** Adds the command. */
export function addWait(program: Command, terminal: Terminal): void {
  withAddress(program.command('wait'))
    .summary('wait until the broker, a plugin or a resource is in a state')
    .description(
      'Waits until everything that is asked for is so: phase=ready, plugin/NAME=STATE, resource/NAME=STATE (a resource is ready with its plugin). A daemon that is not there yet is waited for, too. Ends with 1 when the time is over, with 69 when there is no daemon by then.',
    )
    .requiredOption('--for <condition>', 'what is waited for; may be repeated', condition)
    .addOption(
      new Option('--timeout <duration>', 'how long, such as 500ms, 30s or 5m')
        .argParser(timeoutOption)
        .default(30_000, '30s'),
    )
    .action(async (options: WaitCommandOptions) => {
      const signal = terminal.interruption();
      const until = performance.now() + options.timeout;
      const limit = AbortSignal.timeout(Math.max(options.timeout, LEAST_MS));
      const client = clientOf(options, terminal, AbortSignal.any([signal, limit]));
      let missing: string | Unreachable | undefined = unreachableBecause(
        socketOf(options, 'admin', 'broker.sock'),
        'silent',
      );
      for (;;) {
        try {
          missing = await firstMissing(client, options.for);
        } catch (failure) {
          if (failure instanceof Unreachable && !failure.isForbidden) missing = failure;
          else if (failure !== limit.reason) throw failure;
        }
        if (missing === undefined) return;
        if (performance.now() >= until) throw late(missing, options.timeout);
        await pause(LOOK_MS, undefined, { signal }).catch(() => {
          throw signal.reason;
        });
      }
    });
}

/** The first condition that does not hold yet, in a sentence; undefined when all hold. */
async function firstMissing(client: AdminClient, wanted: readonly Condition[]): Promise<string | undefined> {
  for (const { of, name, is } of wanted) {
    const now = await states(client, of, name);
    if (!now.includes(is)) {
      return `${name === '' ? 'the broker' : `${of} ${name}`} is ${now.length === 0 ? 'not there' : now.join(' and ')}, not ${is}`;
    }
  }
  return undefined;
}

async function states(client: AdminClient, of: Condition['of'], name: string): Promise<readonly string[]> {
  try {
    if (of === 'phase') return [(await client.status(true)).broker.phase];
    const all = of === 'plugin' ? await client.plugins(name) : await client.resources(name, true);
    return [...new Set(all.map(({ state }) => state))];
  } catch (failure) {
    if (failure instanceof AdminFailure && failure.code === 'NOT_FOUND') return [];
    throw failure;
  }
}

function late(missing: string | Unreachable, timeoutMs: number): Error {
  if (missing instanceof Unreachable) return missing;
  return new CliError(EXIT.failed, `not within ${String(timeoutMs / 1000)} s: ${missing}`);
}

function condition(text: string, before: readonly Condition[] = []): readonly Condition[] {
  const [, of = '', name = '', is = ''] = /^(phase|plugin|resource)(?:\/(.+))?=([a-z-]+)$/.exec(text) ?? [];
  if (of === '' || (of === 'phase') !== (name === '')) {
    throw new InvalidArgumentError('It must be phase=ready, plugin/NAME=STATE or resource/NAME=STATE.');
  }
  const states: readonly string[] = of === 'phase' ? PHASES : PLUGIN_STATES;
  if (!states.includes(is)) throw new InvalidArgumentError(`${is} is none of ${states.join(', ')}.`);
  return [...before, { of: of as Condition['of'], name, is }];
}
