// The turns in which calls of one process or user are taken up, and how it is read.

/** The turns of callers that share them. CallPaces (flood/call-paces) gives them. */
export interface CallTurns {
  /** Takes a turn that is free now; false: there is none, and a call that waits has one by `book`. */
  take(): boolean;
  /** Takes the next turn, however late. Returns in how many milliseconds it is. */
  book(): number;
}

/** How what an ordinary user sends is read, over all its connections: `ReadPaces.of` (flood/read-paces) makes it. */
export interface ReadPace {
  /** Told of so many frames and reads that no call earned. Returns for how many milliseconds their connection is not read. */
  unearned(count: number): number;
  /**
   * Takes a turn for a piece of so many octets that was read of one connection, which is not to be read on before, or, with
   * none, for its end.
   *
   * @param turnHasCome called once, unless it has now
   * @returns whether it has come now
   */
  takeUp(bytes: number, turnHasCome: () => void): boolean;
  /**
   * Told that a connection keeps so many octets more than before, or, below zero, fewer, of requests that are not complete.
   *
   * @returns whether all connections of the user keep more than it may: then those that keep much are to end
   */
  keep(change: number): boolean;
}
