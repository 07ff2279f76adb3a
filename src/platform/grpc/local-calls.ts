// Calls of programs on this machine at one of the broker's own sockets: whether anybody is there, and what the end of a call means.
import { connect } from 'node:net';
import { status, type Client, type ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../kernel/clock.js';
import type { WireMethod } from '../wire/method.js';
import type { Decoded, Fields, Given } from '../wire/table.js';
import { unreachableBecause, type AdminFailure } from './admin-failure.js';
import { unaryCall } from './unary-call.js';

/** Longest time a listener may take to accept: it is local. */
const CONNECT_MS = 5_000;

/** A socket, and how it is called. */
export interface LocalSocket {
  /** Its absolute path. */
  readonly socket: string;
  readonly clock: Clock;
  /** A connection to an address as grpc-js takes it. */
  readonly open: (address: string) => Client;
  /** Whether the server itself ended a call with these details; absent: nothing but the status tells. */
  readonly isRefusal?: (details: string) => boolean;
  /** The error for a call that the server refused. */
  readonly refused: (code: keyof typeof status, details: string) => AdminFailure;
}

/**
 * The calls. Each uses a connection of its own, so that it reaches the present owner of the socket, and rejects with Unreachable,
 * with what `refused` makes of it, or with the signal's reason.
 */
export class LocalCalls {
  readonly #at: LocalSocket;

  constructor(at: LocalSocket) {
    this.#at = at;
  }

  /** A call with one answer. @param limitMs its deadline from now */
  async one<Q extends Fields, A extends Fields>(
    method: WireMethod<Q, A>,
    request: Given<Q>,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Decoded<A>> {
    const client = await this.#connected(signal);
    try {
      return await unaryCall(client, method, request, this.#at.clock.wall() + limitMs, signal);
    } catch (thrown) {
      throw this.#failure(thrown, signal);
    } finally {
      client.close();
    }
  }

  /** A call with a stream of answers, also where more than one request could be made. @param limitMs as of `one`, or Infinity */
  async *many<Q extends Fields, A extends Fields>(
    { path, requestStream, requestSerialize, responseDeserialize }: WireMethod<Q, A>,
    request: Given<Q>,
    limitMs: number,
    signal: AbortSignal,
  ): AsyncGenerator<Decoded<A>> {
    const client = await this.#connected(signal);
    let cancel = (): void => undefined;
    try {
      const options = { deadline: this.#at.clock.wall() + limitMs };
      const ask = (): AsyncIterable<unknown> & { cancel(): void } => {
        if (!requestStream)
          return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, options);
        const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, options);
        call.write(request);
        return call;
      };
      const call = ask();
      cancel = () => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel(); // while it connected
      for await (const answer of call) yield answer as Decoded<A>;
    } catch (thrown) {
      throw this.#failure(thrown, signal);
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
      client.close();
    }
  }

  async #connected(signal: AbortSignal): Promise<Client> {
    signal.throwIfAborted();
    await tryConnect(this.#at.socket);
    return this.#at.open(`unix:${this.#at.socket}`);
  }

  #failure(thrown: unknown, signal: AbortSignal): unknown {
    const { socket, isRefusal, refused } = this.#at;
    if (signal.aborted) return signal.reason;
    if (!isServiceError(thrown)) return thrown;
    if (isRefusal?.(thrown.details) !== true && isLost(thrown)) return unreachableBecause(socket, 'lost');
    if (thrown.code === status.DEADLINE_EXCEEDED) return unreachableBecause(socket, 'silent');
    return refused(status[thrown.code] as keyof typeof status, thrown.details);
  }
}

/** Opens a bare connection: its error names the problem, where gRPC only knows that there is one. @throws Unreachable */
function tryConnect(socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    connection.setTimeout(CONNECT_MS, () => {
      connection.destroy();
      reject(unreachableBecause(socket, 'silent'));
    });
    connection.once('connect', () => {
      connection.destroy();
      resolve();
    });
    connection.once('error', (failure: NodeJS.ErrnoException) => {
      reject(unreachableBecause(socket, failure.code ?? failure.message));
    });
  });
}

/** The connection ended, or the server ended the call by a reset, as one does that is being stopped. */
function isLost({ code, details }: ServiceError): boolean {
  if (code === status.UNAVAILABLE || code === status.CANCELLED) return true;
  return code === status.INTERNAL && details.startsWith('Received RST_STREAM');
}

/** Whether a call failed, and not the program. */
function isServiceError(thrown: unknown): thrown is ServiceError {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' && 'details' in thrown;
}
