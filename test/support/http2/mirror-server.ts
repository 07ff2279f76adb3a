import { isAcceptableAuthority } from '../../../src/platform/http2/authority.js';
import { FLAG, FRAME, PREFACE, readHead } from '../../../src/platform/http2/frames.js';
import { HpackDecoder } from '../../../src/platform/http2/hpack-decoder.js';
import type { HeaderField } from '../../../src/platform/http2/hpack-field.js';

/** The reading half of a server, on its own code path: it throws when the border let something pass that it must not. */
export class MirrorServer {
  readonly #hpack = new HpackDecoder(1_000_000);
  readonly #announced: number[] = [];
  readonly requests: (readonly HeaderField[])[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #hasPreface = false;
  #block: Buffer[] | undefined;
  #blockStream = 0;
  #lastId = 0;

  /** The server announced a table size. */
  announced(tableBytes: number): void {
    this.#announced.push(tableBytes);
  }

  take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!this.#hasPreface) {
      if (this.#bytes.length < PREFACE.length) return;
      if (!this.#bytes.subarray(0, PREFACE.length).equals(PREFACE)) throw new Error('a wrong preface passed');
      this.#hasPreface = true;
      this.#bytes = this.#bytes.subarray(PREFACE.length);
    }
    while (this.#bytes.length >= 9) {
      const { length, type, flags, stream } = readHead(this.#bytes, 0);
      if (length > 16_384) throw new Error(`a frame of ${length} octets passed`);
      if (this.#bytes.length < 9 + length) return;
      const payload = this.#bytes.subarray(9, 9 + length);
      this.#bytes = this.#bytes.subarray(9 + length);
      this.#frame(type, flags, stream, payload);
    }
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.#block !== undefined && (type !== FRAME.CONTINUATION || stream !== this.#blockStream)) {
      throw new Error('a frame passed inside a header block');
    }
    if (type === FRAME.SETTINGS && (flags & FLAG.ACK) !== 0) {
      const bytes = this.#announced.shift();
      if (bytes !== undefined) this.#hpack.limitTable(bytes);
    }
    if (type === FRAME.HEADERS) {
      const isPadded = (flags & FLAG.PADDED) !== 0;
      const start = (isPadded ? 1 : 0) + ((flags & FLAG.PRIORITY) !== 0 ? 5 : 0);
      this.#block = [payload.subarray(start, payload.length - (isPadded ? payload[0]! : 0))];
      this.#blockStream = stream;
    } else if (type === FRAME.CONTINUATION) this.#block?.push(payload);
    if ((type === FRAME.HEADERS || type === FRAME.CONTINUATION) && (flags & FLAG.END_HEADERS) !== 0)
      this.#ended(stream);
  }

  #ended(stream: number): void {
    const fields = this.#hpack.decode(Buffer.concat(this.#block ?? []));
    this.#block = undefined;
    if (stream <= this.#lastId || stream % 2 === 0) return;
    this.#lastId = stream;
    this.requests.push(fields);
    if (!hasAcceptableAuthority(fields)) throw new Error('a request passed with an authority that is refused');
  }
}

function hasAcceptableAuthority(fields: readonly HeaderField[]): boolean {
  const authorities = fields.filter(({ name }) => name === ':authority');
  if (authorities.some(({ value }) => !isAcceptableAuthority(value))) return false;
  return authorities.length > 0 || fields.some(({ name, value }) => name === 'host' && isAcceptableAuthority(value));
}
