// Whether ordinary users may replace files in a directory of the kubelet's.
import path from 'node:path';
import { mkdirSync, realpathSync, statusOf, statusOfName } from '../fs/name-calls.js';
import { isSticky, otherWriters, writersOf } from '../fs/name-movers.js';
import { isOursOrRoots } from '../process/own-uid.js';

const MADE_MODE = 0o755;

/**
 * Makes sure that nobody but root and our own user may write a directory, or one above it up to the root, as it is spelled and as
 * it is with links followed: others could put another folder in the place of ours, and another kubelet.sock there. One that is
 * sticky, as /tmp is, may stand above where the entry in it is root's or ours. Missing directories are not looked at.
 *
 * @throws Error with a sentence when ordinary users may; NodeJS.ErrnoException when it cannot be looked at
 */
export function needOnlyOurs(directory: string): void {
  check(directory, isEntryOurs);
}

/**
 * The same for a directory that is made if it is missing, and so are those above it.
 *
 * @throws Error as needOnlyOurs, before anything was made; NodeJS.ErrnoException
 */
export function makeOnlyOurs(directory: string): void {
  const missing: string[] = [];
  for (let at = path.resolve(directory); statusOfName(at) === undefined; at = path.dirname(at)) {
    missing.unshift(at);
  }
  const [first = ''] = missing;
  if (first !== '') check(first, (entry) => entry === first || isEntryOurs(entry));
  // Follows no link that somebody puts under the name by now.
  for (const each of missing) mkdirSync(each, MADE_MODE);
  needOnlyOurs(directory);
}

/** @param isOurs whether an entry of a sticky directory is ours */
function check(directory: string, isOurs: (entry: string) => boolean): void {
  const spelled = path.resolve(directory);
  for (const way of new Set([spelled, realOf(spelled)])) {
    for (let [at, entry] = [way, '']; at !== entry; [at, entry] = [path.dirname(at), at]) checkOne(at, entry, isOurs);
  }
}

/** Where it really leads; the path itself where nothing is there. */
function realOf(at: string): string {
  return statusOf(at) === undefined ? at : realpathSync(at);
}

/** @param entry the next name of the path in it; empty: the last directory */
function checkOne(directory: string, entry: string, isOurs: (entry: string) => boolean): void {
  const status = statusOf(directory);
  if (status === undefined) return;
  const writers = writersOf(status);
  const who = otherWriters(writers);
  if (who === undefined || (isSticky(writers) && isOurs(entry))) return;
  throw new Error(
    `${directory} ${who}, who could stand in for the kubelet and for its plugins: make it root's (chown root:root, chmod go-w)`,
  );
}

function isEntryOurs(entry: string): boolean {
  const status = entry === '' ? undefined : statusOfName(entry);
  return status !== undefined && isOursOrRoots(Number(status.uid));
}
