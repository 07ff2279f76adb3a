import { Server, type ServerOptions } from '@grpc/grpc-js';
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { forgetFrames } from '../http2/session-failure.js';
import { refuseCompressed } from './uncompressed.js';

/** Where grpc-js takes a call, and makes a server of Node's; they have no public names. */
type Inside = {
  _streamHandler: (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
  createHttp2Server: (credentials: unknown) => Http2Server;
};

/**
 * The headers that the library and our handlers read of a request. Of every other header it would make objects that live as long
 * as the call: a `-bin` header is cut at each comma, and 16 KiB of commas cost 2 MB.
 */
const READ_HEADERS = [':method', ':path', ':authority', 'content-type', 'grpc-timeout'] as const;

/** Milliseconds of the units of `grpc-timeout` in which eight digits are more than a timer can wait for. */
const LONG_UNITS: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1000],
]);
/** The longest delay of a timer, in milliseconds. The library cuts longer ones to 32 bits, and they may seem to have passed. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/**
 * A server that passes over calls which have ended before it looks at them: reset by their caller in the octets that
 * brought them, for example. grpc-js answers a call that is no gRPC, or of no method it knows, without looking whether
 * anybody is left, and Node throws at that where nobody can catch it: a single peer could end the process. Calls that would
 * be compressed are refused here, and headers that nobody reads are left out. Connections that have failed leave the memory.
 *
 * @param taken told of each call with the interceptors of its connection, by which GrpcDoor (platform/grpc/grpc-door) knows it;
 *   `go` looks at it, and has sent headers when it returns where the call is answered without any handler
 * @throws Error when the library no longer takes calls where this looks
 */
export function createForgivingServer(
  options: ServerOptions,
  taken: (interceptors: unknown, stream: ServerHttp2Stream, go: () => void) => void,
): Server {
  const server = new Server({ ...options, 'grpc.enable_channelz': 0 });
  const inner = server as unknown as Partial<Inside>;
  const { _streamHandler: take, createHttp2Server: make } = inner;
  if (take === undefined || make === undefined)
    throw new Error('grpc-js takes calls in another way than this broker knows');
  inner._streamHandler = (interceptors, stream, headers) => {
    if (stream.destroyed || stream.closed) stream.on('error', () => undefined);
    else {
      taken(interceptors, stream, () => {
        if (!refuseCompressed(stream, headers)) take.call(server, interceptors, stream, readOf(headers));
      });
    }
  };
  inner.createHttp2Server = (of) => make.call(server, of).on('sessionError', forgetFrames);
  return server;
}

/** The headers that are read, where they are there. */
function readOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const read: IncomingHttpHeaders = {};
  for (const name of READ_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && !(name === 'grpc-timeout' && isBeyondTimers(value))) read[name] = value;
  }
  return read;
}

/** Whether a `grpc-timeout` is longer than a timer can wait. It is left out: such a call has no deadline. */
function isBeyondTimers(timeout: string): boolean {
  const [, digits = '', unit = ''] = /(\d{1,8})\s*([HMS])/.exec(timeout) ?? [];
  return Number(digits) * (LONG_UNITS.get(unit) ?? 0) > LONGEST_WAIT_MS;
}
