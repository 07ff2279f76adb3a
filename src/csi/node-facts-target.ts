// Where node facts are made public, as a port: a file, or the API server.
import type { NodeInfo } from './node-info.js';

/** How one attempt ended. */
export type ApplyOutcome =
  | {
      readonly ok: true;
      /** Drivers that were left out because they contradict a publication or are refused, with a sentence each. */
      readonly conflicts: ReadonlyMap<string, string>;
      /** Something is left that nobody waits for, such as a note on a full disk: apply again after so many milliseconds. */
      readonly againAfterMs?: number;
    }
  | {
      readonly ok: false;
      /** One sentence: the failed step, and why. */
      readonly message: string;
      /** The other side asked to be left alone for this long. */
      readonly retryAfterMs?: number;
      /** It went on where the last attempt had ended, and the next one does: no failure that calls for patience. */
      readonly isUnfinished?: true;
    };

/** Makes node facts public: FileTarget (platform/kubernetes/file-target) or ApiTarget (platform/kubernetes/api-target). */
export interface NodeFactsTarget {
  /**
   * Drivers whose facts this broker made public, in this life or an earlier one, and has not taken back. Undefined: that cannot be
   * read now, which keeps nothing else waiting.
   *
   * @throws Error when that cannot be read now
   */
  known(): Promise<readonly string[] | undefined>;
  /**
   * Applies the wanted state: every wanted driver is public as given, every unwanted one is not, all others are as they were.
   * Idempotent: it may be called again after any failure, and finds out by itself which steps are left. Never throws; one attempt
   * has a deadline of its own.
   */
  apply(
    wanted: ReadonlyMap<string, NodeInfo>,
    unwanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ApplyOutcome>;
}
