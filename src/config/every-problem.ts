// Every problem of a file at once: those of its form, and those between its settings.
import type { HostFacts, ReadResult } from './ports.js';
import { located, type ConfigProblem, type KeyPath } from './problem.js';
import { resolveSettings } from './resolve.js';

/**
 * The problems of a file, in its order; none: it can be used.
 *
 * @param rootFlag the root given on the command line, if any
 */
export function everyProblem(read: ReadResult, rootFlag: string | undefined, around: HostFacts): ConfigProblem[] {
  if ('form' in read) return located(resolveSettings(read.form, rootFlag, around).problems, read.locate);
  const wrong = read.problems.map(({ path }) => path);
  const between = read.rest === undefined ? [] : resolveSettings(read.rest, rootFlag, around).problems;
  // A default stands for a wrong key there: a problem that has to do with that key says nothing about the file.
  const others = between.filter(({ path, against = [] }) =>
    [path, ...against].every((one) => !wrong.some((key) => isWithin(one, key) || isWithin(key, one))),
  );
  return located([...read.problems, ...others], read.locate);
}

function isWithin(inner: KeyPath, outer: KeyPath): boolean {
  return outer.every((key, depth) => inner[depth] === key);
}
