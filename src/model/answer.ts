// Answers to questions of operators, by command or by page, as values: a result, or the mistake in the question.

/**
 * NOT_FOUND: nothing has that name. INVALID_ARGUMENT: the question cannot be understood, or is not precise enough.
 * FAILED_PRECONDITION: the named plugin, resource or ledger is not in a state for it.
 */
export type ProblemCode = 'NOT_FOUND' | 'INVALID_ARGUMENT' | 'FAILED_PRECONDITION';

/** Why a question has no answer: one sentence for the operator. */
export interface Problem {
  readonly code: ProblemCode;
  readonly message: string;
}

/** A result or a problem. */
export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** A result. */
export function answer<T>(value: T): Answer<T> {
  return { ok: true, value };
}

/** A problem. */
export function problem(code: ProblemCode, message: string): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: { code, message } };
}
