// The way of a configuration at start: read, resolve, and either a generation to work with or every problem at once.
import { makeGeneration, type Generation } from './live-config.js';
import type { CompileGlob, FormSource, Locate, Surroundings } from './ports.js';
import { ConfigInvalid, type ConfigProblem } from './problem.js';
import { resolveSettings } from './resolve.js';

/**
 * Reads and resolves the configuration.
 *
 * @param rootFlag the root given on the command line, if any
 * @throws ConfigInvalid with every problem, each with its place in the file
 */
export async function loadGeneration(
  source: FormSource,
  rootFlag: string | undefined,
  around: Surroundings,
  compile: CompileGlob,
): Promise<Generation> {
  const read = await source.read();
  if ('problems' in read) throw new ConfigInvalid(read.problems, source.file);
  const { problems } = resolveSettings(read.form, rootFlag, around);
  if (problems.length > 0) throw new ConfigInvalid(located(problems, read.locate), source.file);
  return makeGeneration(read.form, rootFlag, around, compile);
}

/** Problems with the line and column of what they are about, or of the nearest key above it that the file has. */
export function located(problems: readonly ConfigProblem[], locate: Locate): ConfigProblem[] {
  return problems.map((problem) => {
    for (let depth = problem.path.length; depth > 0; depth--) {
      const place = locate(problem.path.slice(0, depth));
      if (place !== undefined) return { ...problem, ...place };
    }
    return problem;
  });
}
