// Looks and attempts whose failure says all there is to know: what is meant is gone, somebody else's, or none of its kind.

/** What a look gives; undefined where it fails. */
export function ifPossible<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Whether something can be done: it is. */
export function isDone(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
