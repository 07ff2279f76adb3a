// One call with one answer, of the clients beside the daemon, ended by its deadline or by a signal.
import type { Client, ClientUnaryCall } from '@grpc/grpc-js';
import type { Decoded, Fields, Given } from '../wire/table.js';
import type { WireMethod } from '../wire/method.js';
import { AdminFailure } from './admin-failure.js';

/**
 * Makes it.
 *
 * @param deadline epoch milliseconds
 * @throws the library's error of a failed call; AdminFailure for an answer without a message
 */
export async function unaryCall<Q extends Fields, A extends Fields>(
  client: Client,
  method: WireMethod<Q, A>,
  request: Given<Q>,
  deadline: number,
  signal: AbortSignal,
): Promise<Decoded<A>> {
  let cancel = (): void => undefined;
  try {
    return await new Promise((resolve, reject) => {
      const call: ClientUnaryCall = client.makeUnaryRequest<Given<Q>, Decoded<A>>(
        method.path,
        (value) => method.requestSerialize(value),
        (bytes) => method.responseDeserialize(bytes),
        request,
        { deadline },
        (failure, reply) => {
          if (failure !== null) reject(failure);
          else if (reply === undefined) reject(new AdminFailure('INTERNAL', 'the broker answered with nothing'));
          else resolve(reply);
        },
      );
      cancel = () => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
