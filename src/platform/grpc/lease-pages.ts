// A list of leases, page by page: the next page is made when the one before has left, so that who does not read costs a page,
// not all leases, and others have their turn between two pages.

/** Leases of one page: each at most a few hundred KiB, and a page far below what clients take. */
const MOST_LEASES = 16;
/** A page is full with this, so that making it takes some milliseconds at most, however many variables leases have. */
const FULL_BYTES = 64 * 1024;

/** Where pages go. */
interface PageSink {
  /** Whether the call is over: what was being sent then counts as sent. */
  readonly cancelled: boolean;
  /** @param sent called when the page has left, with what went wrong if something did */
  write(page: Buffer, sent: (failure?: Error | null) => void): unknown;
  end(): unknown;
}

/**
 * Sends all of them, and ends the stream.
 *
 * @param pageOf makes a page of one: pages that are put one after the other are one page
 * @param failed told when that throws, in place of the end
 */
export function sendPages<T>(
  sink: PageSink,
  all: readonly T[],
  pageOf: (one: T) => Buffer,
  failed: (failure: unknown) => void,
): void {
  let at = 0;
  const made = (): Buffer => {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (const one of all.slice(at, at + MOST_LEASES)) {
      const part = pageOf(one);
      parts.push(part);
      at += 1;
      bytes += part.length;
      if (bytes >= FULL_BYTES) break;
    }
    return Buffer.concat(parts);
  };
  const send = (): void => {
    if (at >= all.length) {
      sink.end();
      return;
    }
    let page;
    try {
      page = made();
    } catch (failure) {
      failed(failure);
      return;
    }
    // The stream itself takes sixteen messages before it is full, however long they are.
    sink.write(page, (failure) => {
      if (!(failure instanceof Error) && !sink.cancelled) send();
    });
  };
  send();
}
