// The room of an answer of PodResources: what does not fit is left out, and ordinary users leave out nothing of root's.

/** The largest message that gRPC clients take when nothing else was said to them. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The room of one answer, by user: a quarter for each ordinary one, three quarters for all of them. Pure. */
export class AnswerRoom {
  #left = MAX_ANSWER_BYTES;
  #ofStrangers = (3 * MAX_ANSWER_BYTES) / 4;
  readonly #ofUsers = new Map<number, number>();

  /** Bytes that are left for a user; undefined: for root and the broker's own. */
  of(stranger: number | undefined): number {
    return stranger === undefined ? this.#left : Math.min(this.#left, this.#ofStrangers, this.#ofUser(stranger));
  }

  take(stranger: number | undefined, bytes: number): void {
    this.#left -= bytes;
    if (stranger === undefined) return;
    this.#ofStrangers -= bytes;
    this.#ofUsers.set(stranger, this.#ofUser(stranger) - bytes);
  }

  #ofUser(stranger: number): number {
    return this.#ofUsers.get(stranger) ?? MAX_ANSWER_BYTES / 4;
  }
}
