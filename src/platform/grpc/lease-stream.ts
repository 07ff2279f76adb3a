// The stream to one follower of a lease. A follower that reads slowly, or not at all, has one unread message and at most the
// newest one behind it: nobody needs the states between.
import type { LeaseNews } from '../../allocation/ports.js';
import { isLast } from '../../model/lease.js';

/** Where the news go. */
export interface NewsSink {
  /** @param sent called when the follower's side has taken them */
  write(news: LeaseNews, sent: () => void): void;
  /** Ends the stream after all that was written. */
  end(): void;
}

/** The stream of one follower. */
export class LeaseStream {
  readonly #sink: NewsSink;
  #isUnread = false;
  #isOver = false;
  #next: LeaseNews | undefined;

  constructor(sink: NewsSink) {
    this.#sink = sink;
  }

  /** Tells news, now or when those before have been taken; the last ones of a lease at once, and the stream ends with them. */
  readonly tell = (news: LeaseNews): void => {
    if (this.#isOver) return;
    this.#isOver = isLast(news.type);
    if (this.#isUnread && !this.#isOver) this.#next = news;
    else this.#write(news);
    if (this.#isOver) this.#sink.end();
  };

  #write(news: LeaseNews): void {
    this.#next = undefined;
    this.#isUnread = true;
    this.#sink.write(news, () => {
      this.#isUnread = false;
      if (this.#next !== undefined && !this.#isOver) this.#write(this.#next);
    });
  }
}

/** Encodes news that are told to many, once. */
export function onceForAll(encode: (news: LeaseNews) => Buffer): (news: LeaseNews) => Buffer {
  const encoded = new WeakMap<LeaseNews, Buffer>();
  return (news) => {
    const bytes = encoded.get(news) ?? encode(news);
    encoded.set(news, bytes);
    return bytes;
  };
}
