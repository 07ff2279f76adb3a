// v1.PodResourcesLister and v1alpha1.PodResourcesLister on a door: bytes that are ready go out as they are.
import { status, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { asError } from '../../kernel/clock.js';
import { cut } from '../../kernel/cut.js';
import type { Log } from '../../kernel/log.js';
import type { Caller } from '../../model/ids.js';
import type { PodResourcesBackend } from '../../podresources/ports.js';
import {
  GetPodResourcesRequest,
  podResourcesListerService,
} from '../../generated/proto/podresources/v1/podresources.js';
import { podResourcesListerService as alphaService } from '../../generated/proto/podresources/v1alpha1/podresources.js';
import { WireError } from '../wire/wire-error.js';
import type { GrpcDoor } from './grpc-door.js';
import type { RequestBytes } from './request-bytes.js';

/**
 * Names of Kubernetes have so many characters at most. Percent-encoded, those of a whole request are more than a block of headers
 * takes, and the connection would be lost with all its calls.
 */
const LONGEST_NAME = 253;

/** The implementation of the services. */
export interface PodResourcesPorts {
  readonly backend: PodResourcesBackend;
  /** Whether the caller may be answered now: `CallerRates.take` (podresources/caller-rates). */
  readonly mayAsk: (caller: Caller | undefined) => boolean;
  /** Whether the caller may be given an answer of so many bytes, now that it is made: `CallerRates.give` (podresources/caller-rates). */
  readonly mayGive: (caller: Caller | undefined, bytes: number) => boolean;
  /**
   * Counted: `ok`, `not-found`, `limited`, `invalid` or `failed`. BrokerMetrics.podResources
   * (platform/metrics/broker-metrics).
   */
  readonly count: (method: 'List' | 'GetAllocatableResources' | 'Get', result: string) => void;
  readonly log: Log;
}

/** A call that is answered with a status. */
class Refused extends Error {
  readonly code: status;
  readonly result: string;
  constructor(code: status, result: string, details: string) {
    super(details);
    this.code = code;
    this.result = result;
  }
}

function limited(): Refused {
  return new Refused(status.RESOURCE_EXHAUSTED, 'limited', 'rejected by rate limit');
}

type Method = Parameters<PodResourcesPorts['count']>[0];

/** Serves both versions on a door. Statuses and their texts are the kubelet's, because clients compare them. */
export function servePodResources(door: GrpcDoor, { backend, mayAsk, mayGive, count, log }: PodResourcesPorts): void {
  const answering =
    (method: Method, work: (request: Buffer, caller: Caller | undefined) => Buffer | Promise<Buffer>) =>
    async (call: ServerUnaryCall<RequestBytes, Buffer>, done: sendUnaryData<Buffer>): Promise<void> => {
      const connection = door.connectionOf(call.metadata);
      try {
        if (!mayAsk(connection?.caller)) throw limited();
        const answer = await work(call.request.take(), connection?.caller);
        if (!mayGive(connection?.caller, answer.length)) throw limited();
        connection?.answered(true);
        count(method, 'ok');
        done(null, answer);
      } catch (thrown) {
        const { code, result, message } = thrown instanceof Refused ? thrown : failed(method, thrown);
        if (result === 'limited' || result === 'invalid') connection?.answered(false);
        count(method, result);
        done({ code, details: message });
      }
    };
  const failed = (method: Method, thrown: unknown): Refused => {
    const { message } = asError(thrown);
    log.error('podresources.call-failed', `PodResources ${method} failed: ${message}`, { method });
    return new Refused(status.INTERNAL, 'failed', message);
  };
  const get = async (request: Buffer, caller: Caller | undefined): Promise<Buffer> => {
    const { podName, podNamespace } = asked(request);
    const found = await backend.get(podNamespace, podName, caller);
    if (found === 'limited') throw limited();
    if (found !== undefined) return found;
    const details = `pod ${cut(podName, LONGEST_NAME)} in namespace ${cut(podNamespace, LONGEST_NAME)} not found`;
    throw new Refused(status.UNKNOWN, 'not-found', details);
  };
  const { List, GetAllocatableResources, Get } = podResourcesListerService;
  door.serveBytes([
    [List, answering('List', () => backend.list('v1'))],
    [GetAllocatableResources, answering('GetAllocatableResources', () => backend.allocatable())],
    [Get, answering('Get', get)],
  ]);
  door.serveBytes([[alphaService.List, answering('List', () => backend.list('v1alpha1'))]]);
}

function asked(request: Buffer): ReturnType<typeof GetPodResourcesRequest.decode> {
  try {
    return GetPodResourcesRequest.decode(request);
  } catch (problem) {
    if (!(problem instanceof WireError)) throw problem;
    const details = `the request is not a GetPodResourcesRequest: ${problem.message}`;
    throw new Refused(status.INVALID_ARGUMENT, 'invalid', details);
  }
}
