// What the doctor found.

/** ok: nothing to do. warn: it works, but look at it. fail: it does not work, or will not. */
export type Verdict = 'ok' | 'warn' | 'fail';

/** One check. The message is one sentence: what is, and, unless it is ok, what to do. */
export interface Finding {
  readonly name: string;
  readonly verdict: Verdict;
  readonly message: string;
}

/** A finding. */
export function finding(name: string, verdict: Verdict, message: string): Finding {
  return { name, verdict, message };
}
