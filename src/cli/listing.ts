// The shared part of commands that list things with names: all of them, one, or those that match a glob; once or repeatedly.
import { visible } from '../kernel/visible.js';
import type { AdminClient } from '../platform/grpc/admin-client.js';
import { isGlob, matching } from './names.js';
import { documentText, isForPrograms, namesText, type OutputFormat } from './output/format.js';
import { painter, type Paint } from './output/tones.js';
import { show } from './output/watch.js';
import { clientOf, showing, type AddressOptions, type WatchOptions } from './options.js';
import type { Terminal } from './terminal.js';

/** The options of such a command. */
export type ListOptions = AddressOptions & WatchOptions<OutputFormat>;

/** Things that can be listed. */
export interface Listing<T> {
  /** The word for one of them: `plugin`. */
  readonly what: string;
  /** Asks for those of one name; for all where it is empty. */
  readonly ask: (client: AdminClient, name: string) => Promise<readonly T[]>;
  /** The names that a glob is compared with. */
  readonly namesOf: (one: T) => readonly string[];
  /** Whether it is shown; absent: all are. */
  readonly isWanted?: (one: T) => boolean;
  /** The text of `-o name`; empty: nothing. */
  readonly nameOf: (one: T) => string;
  /** The table; `isOne` where one was named. */
  readonly text: (all: readonly T[], paint: Paint, isOne: boolean) => string;
}

/** Shows the requested ones in the requested form. @throws CliError when nothing matches a glob */
export async function showList<T>(
  terminal: Terminal,
  options: ListOptions,
  name: string | undefined,
  { what, ask, namesOf, isWanted = () => true, nameOf, text }: Listing<T>,
): Promise<void> {
  const client = clientOf(options, terminal);
  const { output } = options;
  const isOne = name !== undefined && !isGlob(name);
  await show(terminal, showing(options), async () => {
    const all = await ask(client, isOne ? name : '');
    const listed = (name === undefined || isOne ? all : matching(name, what, all, namesOf)).filter(isWanted);
    if (isForPrograms(output)) return documentText(listed, output, options.watch === true);
    if (output === 'name') return namesText(listed.map((one) => visible(nameOf(one))).filter((one) => one !== ''));
    return text(listed, painter(terminal.hasColours), isOne);
  });
}
