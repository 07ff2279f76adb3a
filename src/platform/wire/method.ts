// gRPC methods in the shape that grpc-js takes for servers, clients and bare calls.
import type { MethodDefinition } from '@grpc/grpc-js';
import type { Decoded, Fields, Given, MessageType } from './table.js';

/** One method: the types of a client's request and answer. A server has the other halves of the same types. */
export type WireMethod<Q extends Fields, A extends Fields> = Omit<
  MethodDefinition<Given<Q>, Given<A>>,
  'requestDeserialize' | 'responseDeserialize'
> & {
  readonly requestDeserialize: (bytes: Buffer) => Decoded<Q>;
  readonly responseDeserialize: (bytes: Buffer) => Decoded<A>;
};

/** A method with one request and one answer. */
export function unary<Q extends Fields, A extends Fields>(
  path: string,
  request: MessageType<Q>,
  answer: MessageType<A>,
): WireMethod<Q, A> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value) => request.encode(value),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (value) => answer.encode(value),
    responseDeserialize: (bytes) => answer.decode(bytes),
  };
}

/** A method with one request and a stream of answers. */
export function serverStream<Q extends Fields, A extends Fields>(
  path: string,
  request: MessageType<Q>,
  answer: MessageType<A>,
): WireMethod<Q, A> {
  return { ...unary(path, request, answer), responseStream: true };
}

/** A method with a stream of requests and a stream of answers. */
export function bidiStream<Q extends Fields, A extends Fields>(
  path: string,
  request: MessageType<Q>,
  answer: MessageType<A>,
): WireMethod<Q, A> {
  return { ...unary(path, request, answer), requestStream: true, responseStream: true };
}
