// Looks at names where users may hold the lock of a directory: each ends in a time (platform/fs/name-calls), so that a check says less
// instead of hanging. What cannot be looked at is not there for the check.
import { ifPossible } from '../../kernel/if-possible.js';
import { UNANSWERED } from '../../model/ids.js';
import { opendirSync, readlinkSync, statusOf, statusOfName, textShown } from '../../platform/fs/name-calls.js';
import { writersOf, type Writers } from '../../platform/fs/name-movers.js';
import { ownUid } from '../../platform/process/own-uid.js';

/** Why nothing is said of what lies in a directory. */
export const UNANSWERED_WHY = 'its directory did not answer, as where a user who may read it holds its lock';

/** The status of a file, as the checks need it. */
export interface Status extends Writers {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly kind: 'socket' | 'directory' | 'other';
}

/**
 * The status of what a path leads to; undefined where nothing is there.
 *
 * @throws NodeJS.ErrnoException
 */
export function statusAt(file: string): Status | undefined {
  return shortened(statusOf(file));
}

/**
 * The status of a name, also where that is a link; undefined where it may not be looked at, too, and `unanswered` where its directory does
 * not answer.
 */
export function statusOfLink(file: string): Status | 'unanswered' | undefined {
  try {
    return shortened(statusOfName(file));
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code === UNANSWERED ? 'unanswered' : undefined;
  }
}

/** The names in a directory; none where it cannot be read. */
export function namesIn(directory: string): readonly string[] {
  return ifPossible(() => allOf(directory)) ?? [];
}

/** Where a link leads. */
export function targetOf(link: string): string | undefined {
  return ifPossible(() => readlinkSync(link));
}

/** A short text, as the kernel shows them. */
export function textOf(file: string): string | undefined {
  return ifPossible(() => textShown(file, ownUid(), 'utf8'));
}

function allOf(directory: string): readonly string[] {
  const opened = opendirSync(directory);
  try {
    const names: string[] = [];
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) names.push(entry.name);
    return names;
  } finally {
    opened.closeSync();
  }
}

function shortened(found: ReturnType<typeof statusOf>): Status | undefined {
  if (found === undefined) return undefined;
  const kind = found.isSocket() ? 'socket' : found.isDirectory() ? 'directory' : 'other';
  const { dev, ino } = found;
  return { ...writersOf(found), dev, ino, kind };
}
