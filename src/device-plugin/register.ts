// The call with which a plugin makes itself known.
import type { Client, ServiceError } from '@grpc/grpc-js';
import { ifPossible } from '../kernel/if-possible.js';
import { GuardedClient } from '../platform/grpc/guarded-client.js';
import { systemClock } from '../platform/time/system-clock.js';
import { decodeRetryInfo, STATUS_DETAILS_KEY } from '../platform/wire/retry-info.js';

const REGISTER = '/v1beta1.Registration/Register';
const asItIs = (bytes: Buffer): Buffer => bytes;

/** How a Register call ended. */
export type RegisterOutcome =
  | { readonly kind: 'registered' }
  /** Nobody could be reached at the socket, or nobody answered. */
  | { readonly kind: 'unreachable'; readonly details: string }
  | { readonly kind: 'refused'; readonly code: number; readonly details: string; readonly retryAfterMs: number };

/**
 * Registers once, on a connection of its own.
 *
 * @param socket the kubelet's socket
 * @param request a v1beta1.RegisterRequest, encoded
 * @param timeoutMs deadline of connecting and calling together
 * @param signal cuts it short, as `unreachable`
 */
export async function registerOnce(
  socket: string,
  request: Buffer,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RegisterOutcome> {
  const client = new GuardedClient(`unix:${socket}`, systemClock);
  const stop = (): void => client.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await call(client, request, Date.now() + timeoutMs);
  } finally {
    signal.removeEventListener('abort', stop);
    client.close();
  }
}

function call(client: Client, request: Buffer, deadline: number): Promise<RegisterOutcome> {
  return new Promise((resolve) => {
    // A status that came from the other side has headers with it; one that grpc-js made itself has none.
    let isAnswered = false;
    const done = (failure: ServiceError | null): void => {
      if (failure === null) resolve({ kind: 'registered' });
      else if (isAnswered || failure.metadata.get('content-type').length > 0) {
        resolve({ kind: 'refused', code: failure.code, details: failure.details, retryAfterMs: retryAfter(failure) });
      } else resolve({ kind: 'unreachable', details: failure.details });
    };
    const running = client.makeUnaryRequest(REGISTER, asItIs, asItIs, request, { deadline }, done);
    running.on('metadata', () => (isAnswered = true));
  });
}

function retryAfter(failure: ServiceError): number {
  const [details] = failure.metadata.get(STATUS_DETAILS_KEY);
  return Buffer.isBuffer(details) ? (ifPossible(() => decodeRetryInfo(details)) ?? 0) : 0;
}
