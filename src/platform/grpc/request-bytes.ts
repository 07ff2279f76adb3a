// The bytes of a request, held no longer than they are needed. The library keeps the request of a call in its own closures, and the
// pieces of which it put it together, until the call is over: of a call that waits for an hour 130 KiB for nothing.
import type { ServerInterceptingCallInterface } from '@grpc/grpc-js';

const NOTHING = Buffer.alloc(0);

/** The request of a call, as the library holds it. */
export class RequestBytes {
  #bytes: Buffer;

  /** @param bytes the message */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The message. Empty from then on: the handler has it alone. */
  take(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = NOTHING;
    return bytes;
  }
}

/** Has the library let go of the pieces of a request that is read whole. */
export function forgetPieces(call: ServerInterceptingCallInterface): void {
  const { decoder } = call as { decoder?: object };
  if (decoder !== undefined) Object.assign(decoder, { readPartialMessage: [], readCompressFlag: NOTHING });
}
