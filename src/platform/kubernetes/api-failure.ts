// The meaning of a failed call to the API server, as a sentence and a wait.
import { ifPossible } from '../../kernel/if-possible.js';

/** A wait that a server asks for is obeyed up to this, in milliseconds. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** A call to the API server that failed. `status` is the HTTP status, 0 where there was no answer. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** The API server itself says that there is no such object; a 404 of something between us does not count. */
  readonly isMissing: boolean;
  constructor(status: number, message: string, retryAfterMs?: number, isMissing = false) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isMissing = isMissing;
  }
}

/** An answer that is not a success. */
export interface BadAnswer {
  readonly status: number;
  /** The text of the body: a Status object, if the API server itself wrote it. */
  readonly text: string;
  /** The Retry-After header, if there is one. */
  readonly retryAfter: string | undefined;
}

/**
 * Turns an answer into a failure with one sentence.
 *
 * @param call verb and object, as an operator would say it: `patch node worker-1`
 * @param nowMs wall clock, to read a Retry-After that is a date
 */
export function failureOf(call: string, { status, text, retryAfter }: BadAnswer, nowMs: number): ApiFailure {
  const { message, reason } = statusObject(text);
  const said = message === undefined ? '' : `: ${message.slice(0, 300)}`;
  const isMissing = status === 404 && reason === 'NotFound';
  return new ApiFailure(status, `${sentence(call, status)}${said}`, waitOf(retryAfter, nowMs), isMissing);
}

function sentence(call: string, status: number): string {
  if (status === 401) return `the API server does not accept our credentials to ${call} (401)`;
  if (status === 403) {
    return `the API server forbids us to ${call} (403), grant get and patch of nodes, and get, create, patch and delete of csinodes`;
  }
  if (status === 409) return `somebody else changed the object while we tried to ${call}, it is tried again`;
  return `the API server answered ${status} when asked to ${call}`;
}

/** The parts of a Status object, as far as the text is one. */
function statusObject(text: string): { readonly message?: string; readonly reason?: string } {
  // An answer that is no JSON is not from the API server itself, but from a proxy for example.
  const status = ifPossible(() => JSON.parse(text) as unknown);
  if (typeof status !== 'object' || status === null) return {};
  const { message, reason } = status as { message?: unknown; reason?: unknown };
  return { ...(typeof message === 'string' ? { message } : {}), ...(typeof reason === 'string' ? { reason } : {}) };
}

/** RFC 9110 10.2.3: seconds or a date. */
function waitOf(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : undefined;
}
