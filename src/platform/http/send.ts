// Puts answers on the wire, with the headers that every answer has.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Stream } from '../../page/audience.js';
import { PackedPieces } from './packed-pieces.js';
import type { Answer, Streaming } from './router.js';

/** Nothing here is for other sites; the headers tell the browser. */
const EVERY_ANSWER = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Answers in compressed form, each made once, however often it is given. */
export class CompressedAnswers {
  readonly #made = new WeakMap<Answer, Promise<Buffer>>();
  readonly #pieces = new PackedPieces();

  /** An answer's body in gzip. */
  of(answer: Answer): Promise<Buffer> {
    const known = this.#made.get(answer);
    if (known !== undefined) return known;
    const { body } = answer;
    const made = this.#pieces.gzip(typeof body === 'string' ? [Buffer.from(body)] : body);
    this.#made.set(answer, made);
    return made;
  }
}

/** Sends an answer, compressed where it is large and the client takes that. Resolves when it was handed over. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  compressed: CompressedAnswers,
): Promise<void> {
  const { status, type, body, headers = {}, isLarge = false, version } = answer;
  const known = version === undefined ? {} : { etag: `W/"${version}"` };
  const common = { ...EVERY_ANSWER, 'cache-control': 'no-store', ...headers, ...known };
  if (version !== undefined && request.headers['if-none-match'] === known.etag) {
    response.writeHead(304, common);
    response.end();
    return;
  }
  const isCompressed = isLarge && /\bgzip\b/.test(String(request.headers['accept-encoding']));
  const bytes = isCompressed
    ? await compressed.of(answer)
    : typeof body === 'string'
      ? Buffer.from(body)
      : Buffer.concat(body);
  if (response.destroyed) return;
  response.writeHead(status, {
    'content-type': type,
    ...common,
    'content-length': bytes.length,
    ...(isLarge ? { vary: 'accept-encoding' } : {}),
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** Opens a stream of events. */
export function sendStream(request: IncomingMessage, response: ServerResponse, { open }: Streaming): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...EVERY_ANSWER,
    'cache-control': 'no-store',
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  response.flushHeaders();
  const stream: Stream = {
    write: (bytes) => {
      if (response.writable) response.write(bytes);
    },
    get unread() {
      return response.writableLength;
    },
    end: () => response.end(),
    destroy: () => response.destroy(),
  };
  const leave = open(stream);
  if (response.destroyed) leave();
  else response.once('close', leave);
}
