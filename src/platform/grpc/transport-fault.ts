// The meaning of the library's own messages, where no plugin has spoken: the library gives one status for many causes and tells
// them apart in prose only. Never used on a plugin's answer.
import type { TransportFault } from '../../model/failed-call.js';
import { GRPC_STATUS } from '../../model/reasons.js';

/** Nobody listens on the socket, or its file has gone. */
const NO_LISTENER = /ECONNREFUSED|ENOENT/;
/** File permissions keep us out. */
const NOT_PERMITTED = /EACCES|EPERM/;
/** Descriptors or memory of our own have run out: nothing of the peer is known. */
const SHORTAGE = /EMFILE|ENFILE|ENOBUFS|ENOMEM/;
/** The peer hung up, which a plugin also does that crashes. */
const HUNG_UP = /socket hang up|the peer hung up|connection dropped|econnreset|write epipe/i;
/**
 * A message is larger than `grpc.max_receive_message_length`. The whole text must match, so that no server's own message about
 * its limits is taken for it.
 */
const TOO_LARGE = /^Received message larger than max \(\d+ vs \d+\)$/;
/** The peer speaks something else. */
const NOT_HTTP2 =
  /protocol error|nghttp2|err_http2|bad client magic|parse error|frame_size|before settings|failed to connect/i;

/**
 * Why our transport failed a call.
 *
 * @param status the gRPC status number that the library made
 * @param details its words, never those of a peer
 */
export function transportFault(status: number, details: string): TransportFault {
  if (status === GRPC_STATUS.DEADLINE_EXCEEDED) return 'no-answer';
  if (status === GRPC_STATUS.CANCELLED) return 'given-up';
  if (isTooLarge(status, details)) return 'too-large';
  if (NO_LISTENER.test(details)) return 'no-listener';
  if (NOT_PERMITTED.test(details)) return 'not-permitted';
  if (SHORTAGE.test(details)) return 'busy';
  if (HUNG_UP.test(details)) return 'hung-up';
  return NOT_HTTP2.test(details) ? 'not-grpc' : 'unreachable';
}

/** Whether the library gave a message up because it is larger than we take. */
export function isTooLarge(status: number, details: string): boolean {
  return status === GRPC_STATUS.RESOURCE_EXHAUSTED && TOO_LARGE.test(details);
}
