// The turns in which calls of one process or user are taken up, and the pace of its frames and reads.

/** The turns of callers that share them. CallPaces (flood/call-paces) gives them. */
export interface CallTurns {
  /** Takes a turn that is free now; false: there is none, and a call that waits has one by `book`. */
  take(): boolean;
  /** Takes the next turn, however late. Returns in how many milliseconds it is. */
  book(): number;
}

/**
 * Told of so many frames and reads that no call earned, says for how many milliseconds their connection is not read:
 * `FramePaces.of` (flood/frame-paces) makes it.
 */
export type FramePace = (count: number) => number;
