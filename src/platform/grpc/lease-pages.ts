// A list of leases, page by page: the next page is made when the one before has left and its caller has a turn, so that a caller
// that does not read takes the memory of one page, not of all leases, and other calls have their turn between two pages.

/** Leases of one page: each is a few hundred KiB at most, so a page is far below the message size that clients accept. */
const MOST_LEASES = 16;
/** The bytes that fill a page, so that making it takes a few milliseconds at most even if leases have many variables. */
const FULL_BYTES = 64 * 1024;

/** The stream that pages are written to. */
interface PageSink {
  /** Whether the call is over: a page that was being sent then counts as sent. */
  readonly cancelled: boolean;
  /** @param sent called when the page has left, with the failure if there was one */
  write(page: Buffer, sent: (failure?: Error | null) => void): unknown;
  end(): unknown;
}

/**
 * Sends all items, and ends the stream.
 *
 * @param pageOf encodes a page with one item; concatenated pages are one page. Undefined: there is no such item any more
 * @param inTurn makes a page when the caller has its turn; windows of many lists may be opened at once
 * @param failed called when a page cannot be made; the stream is not ended then
 */
export function sendPages<T>(
  sink: PageSink,
  all: readonly T[],
  pageOf: (one: T) => Buffer | undefined,
  inTurn: <R>(make: () => R) => Promise<R>,
  failed: (failure: unknown) => void,
): void {
  let at = 0;
  const made = (): Buffer => {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (; at < all.length && parts.length < MOST_LEASES && bytes < FULL_BYTES; at += 1) {
      const part = pageOf(all[at] as T);
      if (part === undefined) continue;
      parts.push(part);
      bytes += part.length;
    }
    return Buffer.concat(parts);
  };
  const send = async (): Promise<void> => {
    const page = at < all.length ? await inTurn(() => (sink.cancelled ? undefined : made())) : Buffer.alloc(0);
    if (page === undefined) return;
    if (page.length === 0) {
      sink.end();
      return;
    }
    // The stream itself takes sixteen messages before it is full, however long they are.
    sink.write(page, (failure) => {
      if (!(failure instanceof Error) && !sink.cancelled) goOn();
    });
  };
  const goOn = (): void => void send().catch(failed);
  goOn();
}
