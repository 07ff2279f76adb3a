import { Duplex } from 'node:stream';

/** Octets held at most for a side that does not take them. */
const READ_BYTES = 65_536;

/** The stream that stands in place of a socket for the HTTP/2 of ours behind a border: it writes through `send`. */
export abstract class BorderStream extends Duplex {
  constructor() {
    super({ allowHalfOpen: true, readableHighWaterMark: READ_BYTES, writableHighWaterMark: READ_BYTES });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.send([chunk], done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer; readonly encoding: BufferEncoding }[],
    done: (error?: Error) => void,
  ): void {
    this.send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  /** Sends pieces to the peer. @param done called when more may be sent */
  protected abstract send(chunks: readonly Buffer[], done: (error?: Error) => void): void;
}
