// One ListAndWatch stream of a plugin: sends lists as fast as they leave, or the newest when one has left.
import type { ServerWritableStream } from '@grpc/grpc-js';

/** A stream as grpc-js gives it. */
export type ListCall = ServerWritableStream<object, object | Buffer>;

/** Why a stream ends with another status than OK. */
export type StreamFailure = Error & { readonly code: number };

/** How a stream behaves. */
export interface ListStreamOptions {
  /** Lists that may be on their way at once. */
  readonly queue: number;
  /** Ends the stream after so many lists. */
  readonly endAfter: number | undefined;
  readonly onSent: (list: Buffer, nth: number) => void;
  readonly onEnd: (how: 'cancelled' | 'ended', lists: number) => void;
}

/** An open stream. */
export class ListStream {
  readonly #call: ListCall;
  readonly #options: ListStreamOptions;
  #next: (() => Buffer) | undefined;
  #waiting: Buffer | undefined;
  #inFlight = 0;
  #sent = 0;
  #isEnded = false;
  #left: (() => void) | undefined;

  constructor(call: ListCall, options: ListStreamOptions) {
    this.#call = call;
    this.#options = options;
    call.on('error', () => this.#over('cancelled'));
    call.on('cancelled', () => this.#over('cancelled'));
  }

  /** Sends a list; while others are on their way it waits, and a newer one takes its place. */
  offer(list: Buffer): void {
    this.#waiting = list;
    this.#pump();
  }

  /** Sends lists without end, the next as soon as one has left. */
  flood(next: () => Buffer): void {
    this.#next = next;
    this.#pump();
  }

  /** Sends a last list and ends the stream when it has left, or after `graceMs` where its reader does not read. */
  async goodbye(list: Buffer, graceMs: number): Promise<void> {
    this.#next = undefined;
    let timer: NodeJS.Timeout | undefined;
    const left = new Promise<void>((resolve) => {
      this.#left = resolve;
      timer = setTimeout(resolve, graceMs);
    });
    this.offer(list);
    await left;
    clearTimeout(timer);
    this.end();
  }

  /** Ends the stream, well or with a status. */
  end(failure?: StreamFailure): void {
    if (this.#isEnded) return;
    this.#over('ended');
    if (failure === undefined) this.#call.end();
    else this.#call.emit('error', failure);
  }

  #pump(): void {
    while (!this.#isEnded && this.#inFlight < this.#options.queue) {
      const list = this.#waiting ?? this.#next?.();
      if (list === undefined) return;
      this.#waiting = undefined;
      this.#inFlight++;
      this.#sent++;
      this.#call.write(list, () => this.#hasLeft());
      this.#options.onSent(list, this.#sent);
      if (this.#sent === this.#options.endAfter) this.end();
    }
  }

  #hasLeft(): void {
    this.#inFlight--;
    if (this.#waiting === undefined && this.#inFlight === 0) this.#left?.();
    setImmediate(() => this.#pump());
  }

  #over(how: 'cancelled' | 'ended'): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#left?.();
    this.#options.onEnd(how, this.#sent);
  }
}
