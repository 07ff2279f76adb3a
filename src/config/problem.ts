// The problems of a configuration, as values: all at once, each with its line and its remedy.
import { visible } from '../kernel/visible.js';

/** Keys and indexes from the top of the file down to the problem. */
export type KeyPath = readonly (string | number)[];

/** One thing that is wrong. */
export interface ConfigProblem {
  readonly path: KeyPath;
  /** The problem, without the path and without a trailing period. */
  readonly message: string;
  /** The remedy, in one clause. */
  readonly remedy: string;
  /** Other keys that the value was compared with. */
  readonly against?: readonly KeyPath[];
  /** Where in the file, from 1; undefined for values that come from a flag or a default. */
  readonly line?: number;
  readonly column?: number;
}

/** Line and column of a path in the file that was read, from 1; undefined where the file does not have it. */
export type Locate = (path: KeyPath) => { readonly line: number; readonly column: number } | undefined;

/**
 * Problems in the order of the file, each with the line of its key, or of the nearest key above it that the file has. Lines that
 * are known already stay.
 */
export function located(problems: readonly ConfigProblem[], locate: Locate): ConfigProblem[] {
  return problems
    .map((problem) => (problem.line === undefined ? { ...problem, ...nearest(problem.path, locate) } : problem))
    .sort((a, b) => order(a) - order(b));
}

/** Lines before columns; no line of a configuration has a million columns. */
function order({ line = 0, column = 0 }: ConfigProblem): number {
  return line * 1e6 + column;
}

function nearest(path: KeyPath, locate: Locate): ReturnType<Locate> {
  for (let depth = path.length; depth > 0; depth--) {
    const place = locate(path.slice(0, depth));
    if (place !== undefined) return place;
  }
  return undefined;
}

/** A path as an operator writes it: `rules[2].flood.register.burst`; empty for the file as a whole. */
export function pathText(path: KeyPath): string {
  return path.map((key, depth) => (typeof key === 'number' ? `[${key}]` : depth === 0 ? key : `.${key}`)).join('');
}

/**
 * One line for a person: `broker.yaml:12:5: flood.register.burst: … ; …`. Keys and values of the file are made visible in it,
 * so that it stays one line: the file may be another user's, as when a pipeline checks it.
 */
export function problemText(problem: ConfigProblem, file: string | undefined): string {
  const place = [file, problem.line, problem.column].filter((part) => part !== undefined).join(':');
  const parts = [place, pathText(problem.path), `${problem.message}; ${problem.remedy}`];
  return visible(parts.filter((part) => part !== '').join(': '));
}

/** A configuration that cannot be used. Programs end with exit 78 on it. */
export class ConfigInvalid extends Error {
  override readonly name = 'ConfigInvalid';
  readonly problems: readonly ConfigProblem[];
  readonly file: string | undefined;
  constructor(problems: readonly ConfigProblem[], file: string | undefined) {
    super(problems.map((problem) => problemText(problem, file)).join('\n'));
    this.problems = problems;
    this.file = file;
  }
}
