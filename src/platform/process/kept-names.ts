// Names that the program looks for while it serves, in directories that everybody may read: who holds the lock of one has each look at a name
// in it wait that is not in the kernel's cache, and what is looked for rarely is pushed out of it where memory is short, or was never in it.
// What is open stays in it.
import { constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ifPossible } from '../../kernel/if-possible.js';
import { O_PATH, openSync } from '../fs/name-calls.js';

/** All that this program, and the library of its metrics, look for in the directory of their process: all the time (/proc/self/fd/N). */
const OF_PROCESS = ['fd', 'fdinfo', 'task', 'stat', 'status', 'limits', 'mountinfo'] as const;
/** The parts of the program that are loaded when they are needed for the first time, as scripts/build.mjs makes them. */
const PARTS = ['descriptors', 'explain', 'kubernetes', 'page', 'pino-pretty', 'prom-client', 'yaml'] as const;

/** Keeps the names of our own process for as long as it lives. @returns the descriptors that do it */
export function keepProc(): readonly number[] {
  return kept(OF_PROCESS.map((name) => `/proc/self/${name}`));
}

/**
 * Keeps the names of the parts of the program that are not loaded yet.
 *
 * @param program URL of its bundle
 * @returns the descriptors that do it; none where the program is no bundle
 */
export function keepParts(program: string): readonly number[] {
  return kept(PARTS.map((name) => fileURLToPath(new URL(`lazy/${name}.cjs`, program))));
}

function kept(files: readonly string[]): readonly number[] {
  return files.flatMap((file) => ifPossible(() => openSync(file, O_PATH | constants.O_NOFOLLOW)) ?? []);
}
