// The completions, read from the command tree.
import type { Command } from 'commander';

/** One option. */
export interface CompletedOption {
  /** As typed: `-o`, `--output`. */
  readonly flags: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  /** The values there are; empty for any. */
  readonly choices: readonly string[];
  /** The live names that its value is one of; undefined for none. */
  readonly names: LiveNames | undefined;
}

/** The kinds of names that the daemon knows: see `__names`. */
type LiveNames = 'plugin' | 'resource' | 'lease';

/** Commands whose first argument is a name that the daemon knows, and the kind of that name. */
const NAMED: ReadonlyMap<string, LiveNames> = new Map<string, LiveNames>([
  ...['plugins', 'limits', 'explain', 'pardon', 'deregister', 'forget'].map((path) => [path, 'plugin'] as const),
  ['resources', 'resource'],
  ['allocations', 'resource'],
  ['release', 'lease'],
]);
/** Options whose value is such a name, by command and option. */
const NAMED_VALUES: ReadonlyMap<string, LiveNames> = new Map([
  ['run --device', 'resource'],
  ['allocate --device', 'resource'],
]);

/** One command, or the program itself. */
export interface CompletedCommand {
  /** The words that lead to it: empty for the program, `sim device` for a subcommand. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly about: string }[];
  /** The live names that its first argument takes; undefined for none. */
  readonly names: LiveNames | undefined;
  /** Values of its first argument; empty for any. */
  readonly choices: readonly string[];
  readonly options: readonly CompletedOption[];
}

/** All commands, the program first, in the order of the help. */
export function completionTree(command: Command, path = ''): readonly CompletedCommand[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const own: CompletedCommand = {
    path,
    names: NAMED.get(path),
    subcommands: subcommands.map((sub) => ({ name: sub.name(), about: help.subcommandDescription(sub) })),
    choices: command.registeredArguments[0]?.argChoices ?? [],
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      about: help.optionDescription(option),
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
      names: NAMED_VALUES.get(`${path} ${option.long ?? ''}`),
    })),
  };
  const below = subcommands.flatMap((sub) => completionTree(sub, path === '' ? sub.name() : `${path} ${sub.name()}`));
  return [own, ...below];
}

/** A text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The steps as the cases of a POSIX shell that has the place in `at` and the next word behind it. */
export function walkCases(tree: readonly CompletedCommand[]): string {
  return steps(tree)
    .map(({ from, word, to }) => `      ${quoted(`${from}|${word}`)}) at=${quoted(to)} ;;`)
    .join('\n');
}

/** Each step from a command to a subcommand. */
export function steps(tree: readonly CompletedCommand[]): readonly { from: string; word: string; to: string }[] {
  return tree.flatMap(({ path, subcommands }) =>
    subcommands.map(({ name }) => ({ from: path, word: name, to: path === '' ? name : `${path} ${name}` })),
  );
}
