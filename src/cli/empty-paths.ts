// No command takes an empty path: each would read it in a way of its own, as the current directory for example. A script whose variable
// is not set gives one.
import type { Command } from 'commander';

/** Paths, as the help calls the values of options and arguments. */
const PATHS: ReadonlySet<string> = new Set(['dir', 'file', 'path', 'socket']);

/** Ends a command that was given an empty path, as any other wrong usage. */
export function refuseEmptyPaths(_program: Command, command: Command): void {
  const refuse = (what: string): void =>
    command.error(`error: ${what} argument '' is invalid. It must be a path: an empty one names nothing.`);
  // Options of a command that has commands below it are taken by it, wherever they stand.
  for (let one: Command | null = command; one !== null; one = one.parent) {
    for (const option of one.options) {
      const key = option.attributeName();
      const isGivenEmpty = one.getOptionValue(key) === '' && one.getOptionValueSource(key) === 'cli';
      if (isGivenEmpty && PATHS.has(/[<[](.*)[>\]]/.exec(option.flags)?.[1] ?? '')) refuse(`option '${option.flags}'`);
    }
  }
  for (const [index, argument] of command.registeredArguments.entries()) {
    const given: unknown = command.processedArgs[index];
    if (PATHS.has(argument.name()) && [given].flat().includes('')) refuse(`command-argument '${argument.name()}'`);
  }
}
