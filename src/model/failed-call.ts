// What a failed call to a plugin means, as a code and a sentence. Pure.
import { GRPC_STATUS, type Refusal, type RefusalCode } from './reasons.js';

/** What the library adds to its messages although it has nothing to say. */
const EMPTY_NOTE = /\.? Resolution note: $/;

/** A call to a plugin that failed; `status` is the gRPC status number, the message is the plugin's or the transport's. */
export interface FailedCall extends Error {
  readonly status: number;
}

/** Words with which the HTTP/2 layer tells that its peer speaks something else. */
const NOT_HTTP2 =
  /protocol error|nghttp2|err_http2|bad client magic|parse error|frame_size|socket hang up|connection dropped|econnreset|write epipe|before settings|failed to connect/i;

/** Words with which it tells that its peer hung up, which a plugin also does that crashes. */
const HUNG_UP = /socket hang up|connection dropped|econnreset|write epipe/i;

/**
 * Tells who is to blame: nobody listens, nobody answers, another protocol, another service, or `otherwise`.
 *
 * @param what the call, as the kubelet's messages name it: `failed to get device plugin options`
 * @param subject the plugin and endpoint, for the sentence
 */
export function classifyFailedCall(
  failure: FailedCall,
  what: string,
  subject: string,
  otherwise: RefusalCode,
): Refusal {
  const say = (code: RefusalCode, why: string): Refusal => ({ code, message: `${subject}: ${what}: ${why}` });
  const { status } = failure;
  const message = failure.message.replace(EMPTY_NOTE, '');
  if (/ECONNREFUSED|ENOENT/.test(message)) return say('NO_LISTENER', 'nobody listens on the endpoint');
  if (status === GRPC_STATUS.DEADLINE_EXCEEDED) return say('NO_ANSWER', message);
  if (status === GRPC_STATUS.UNIMPLEMENTED) return say('NOT_SERVED', `the endpoint does not serve it (${message})`);
  if ((status === GRPC_STATUS.UNAVAILABLE || status === GRPC_STATUS.INTERNAL) && NOT_HTTP2.test(message)) {
    const fault = HUNG_UP.test(message) ? 'hung up: its process crashed, or it does not speak' : 'does not speak';
    return say('NOT_GRPC', `the endpoint ${fault} gRPC (${message})`);
  }
  return say(otherwise, message);
}
