// No caller of ours compresses: kubelets, plugins and operators send a few hundred bytes. A compressed request would have each
// call unpacked in the thread pool that the checkpoint's writes wait for, so none is taken
// (docs/specification.md#the-border-of-a-socket).
import { status, type ServerInterceptingCallInterface } from '@grpc/grpc-js';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';

/** The only encoding there is, in both directions. */
export const ACCEPTED_ENCODINGS = { 'grpc-accept-encoding': 'identity' };

const REFUSAL = 'compressed requests are not taken; send them as they are (grpc-encoding: identity)';
const FLAG_WITHOUT_ENCODING = 'a message is marked as compressed, and grpc-encoding names no compression';
/** A flag and four octets of length stand before each message. */
const PREFIX_BYTES = 5;

/** Answers a call whose messages would be compressed, before any of them is read. @returns whether it was one */
export function refuseCompressed(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const encoding = headers['grpc-encoding'];
  if (encoding === undefined || encoding === 'identity') return false;
  stream.on('error', () => undefined); // its caller may have gone
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-status': String(status.UNIMPLEMENTED),
      'grpc-message': encodeURI(REFUSAL),
      ...ACCEPTED_ENCODINGS,
    },
    { endStream: true },
  );
  stream.resume();
  return true;
}

/** Has the library never unpack a message of a call: one that is marked as compressed is answered with INTERNAL. */
export function unpackNothing(call: ServerInterceptingCallInterface): void {
  Object.assign(call, { decompressMessage: contentOf });
}

function contentOf(message: Buffer): Buffer {
  if (message[0] === 0) return message.subarray(PREFIX_BYTES);
  throw Object.assign(new Error(FLAG_WITHOUT_ENCODING), { code: status.INTERNAL, details: FLAG_WITHOUT_ENCODING });
}
