// A directory that does not answer, because somebody holds its lock, says nothing of the names in it.
import { UNANSWERED } from '../../model/ids.js';

/**
 * The finding of a look at a name.
 *
 * @param known what was known before: it stands where the directory does not answer. Otherwise a user that holds the lock of a directory
 *   would end every plugin, driver and socket of ours in it.
 * @returns undefined where nothing can be seen: nothing is there, or we may not enter
 */
export function asKnown<T>(look: () => T | undefined, known: T | undefined): T | undefined {
  try {
    return look();
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code === UNANSWERED ? known : undefined;
  }
}
