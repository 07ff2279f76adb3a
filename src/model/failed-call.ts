// The meaning of a failed call to a plugin, as a code and a sentence. Pure.
import { GRPC_STATUS, type Refusal, type RefusalCode } from './reasons.js';

/** When it is worth trying again after our descriptors had run out. */
const BUSY_MS = 1000;

/** A note that the library adds to its messages although it is empty. */
const EMPTY_NOTE = /\.? Resolution note: $/;

/**
 * The report of our own transport about a call that never got an answer: nobody listens on the socket · we may not connect to it
 * · we have no descriptor left · nothing came within the time given · the listener does not speak gRPC · the connection was cut
 * before an answer, which a plugin that crashes does, too · we gave the call up · a message is larger than we take · any other
 * obstacle to reaching the plugin. With `not-permitted` the message is the sentence of `mayNotConnect` (model/not-permitted).
 */
export type TransportFault =
  | 'no-listener'
  | 'not-permitted'
  | 'busy'
  | 'no-answer'
  | 'not-grpc'
  | 'hung-up'
  | 'given-up'
  | 'too-large'
  | 'unreachable';

/** A call to a plugin that failed; `status` is the gRPC status number, the message is the plugin's or the transport's. */
export interface FailedCall extends Error {
  readonly status: number;
  /** Set when our transport failed the call; undefined: the plugin itself answered, whatever its message is. */
  readonly fault?: TransportFault | undefined;
}

/** How a stream of a plugin ended; status 0 means that the plugin closed it in order. */
export interface StreamEnd {
  readonly status: number;
  readonly details: string;
  /** Set when our transport ended it; undefined: the plugin itself did, whatever its status and its message are. */
  readonly fault?: TransportFault | undefined;
}

/**
 * Finds the cause: nobody listens, nobody answers, another protocol, another service, or `otherwise`. The words of a plugin
 * decide nothing: one that lives and says "ENOENT" of a device has answered.
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
  const { status, fault } = failure;
  const message = failure.message.replace(EMPTY_NOTE, '');
  switch (fault) {
    case 'no-listener':
      return say('NO_LISTENER', 'nobody listens on the endpoint');
    case 'not-permitted':
      return say('NOT_PERMITTED', message);
    case 'busy':
      return { ...say('BUSY', `the broker has nothing left to connect with (${message})`), retryAfterMs: BUSY_MS };
    case 'no-answer':
      return say('NO_ANSWER', message);
    case 'not-grpc':
      return say('NOT_GRPC', `the endpoint does not speak gRPC (${message})`);
    case 'hung-up':
      return say('NOT_GRPC', `the endpoint hung up: its process crashed, or it does not speak gRPC (${message})`);
    default:
      if (status !== GRPC_STATUS.UNIMPLEMENTED) return say(otherwise, message);
      return say('NOT_SERVED', `the endpoint does not serve it (${message})`);
  }
}
