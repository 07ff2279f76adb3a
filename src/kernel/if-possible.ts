// Looks and attempts whose failure needs no explanation: the target is gone, or belongs to another, or is of another kind.

/** The result of a look; undefined where it fails. */
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
