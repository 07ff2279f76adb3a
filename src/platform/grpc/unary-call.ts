// One call with one answer, of the clients beside the daemon, ended by its deadline or by a signal.
import type { Client } from '@grpc/grpc-js';
import type { Decoded, Fields, Given } from '../wire/table.js';
import type { WireMethod } from '../wire/method.js';

/**
 * Makes it.
 *
 * @param deadline epoch milliseconds
 * @throws the library's error of a failed call (ServiceError), which an answer without a message is, too
 */
export async function unaryCall<Q extends Fields, A extends Fields>(
  client: Client,
  { path, requestSerialize, responseDeserialize }: WireMethod<Q, A>,
  request: Given<Q>,
  deadline: number,
  signal?: AbortSignal,
): Promise<Decoded<A>> {
  let cancel = (): void => undefined;
  try {
    return await new Promise((resolve, reject) => {
      const done = (failure: Error | null, answer?: Decoded<A>): void =>
        failure === null ? resolve(answer as Decoded<A>) : reject(failure);
      const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, done);
      cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted === true) cancel();
    });
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}
