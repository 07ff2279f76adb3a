// The shared part of watches of a directory: which directory it is, and why it cannot be watched.
import { asKnown } from './as-known.js';
import { statusOf } from './name-calls.js';
import { withPath } from './pinned-directory.js';

/**
 * Tells directories of one path apart, because one that was removed and made again is another, of which a watch says
 * nothing; inode numbers are used again at once. Empty where there is none to be seen.
 *
 * @param known the identity where the directory above does not answer
 */
export function identityOf(directory: string, known = ''): string {
  const look = (): string | undefined => {
    const status = statusOf(directory);
    return status && `${String(status.ino)}:${String(status.birthtimeNs)}`;
  };
  return asKnown(look, known) ?? '';
}

/** Why a directory cannot be watched, and the remedy where it is known; without a trailing period. */
export function whyUnwatched(directory: string, failure: NodeJS.ErrnoException): string {
  const { code, syscall, message } = failure;
  const why =
    syscall === 'watch' && (code === 'ENOSPC' || code === 'EMFILE')
      ? `the system's inotify limit is reached (${code}): raise fs.inotify.max_user_watches or max_user_instances`
      : withPath(message, directory);
  return `${directory} cannot be watched: ${why}`;
}
