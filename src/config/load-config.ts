// The way of a configuration at start: read, resolve, and either a generation to work with or every problem at once.
import { everyProblem } from './every-problem.js';
import { makeGeneration, type Generation } from './live-config.js';
import type { CompileGlob, FormSource, HostFacts } from './ports.js';
import { ConfigInvalid } from './problem.js';

/**
 * Reads and resolves the configuration.
 *
 * @param rootFlag the root given on the command line, if any
 * @throws ConfigInvalid with every problem, each with its place in the file
 */
export async function loadGeneration(
  source: FormSource,
  rootFlag: string | undefined,
  around: HostFacts,
  compile: CompileGlob,
): Promise<Generation> {
  const read = await source.read();
  const problems = everyProblem(read, rootFlag, around);
  if (problems.length > 0 || !('form' in read)) throw new ConfigInvalid(problems, source.file);
  return makeGeneration(read.form, rootFlag, around, compile);
}
