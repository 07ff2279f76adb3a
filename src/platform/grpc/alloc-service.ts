// pluginbroker.v1.Allocator on the wire: decoding is ours, so that a request that cannot be decoded is a refusal with a code like
// any other, and the caller is the one that the kernel names for the connection, whatever the request says.
import {
  Metadata,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Allocations } from '../../allocation/allocations.js';
import type { Result } from '../../allocation/result.js';
import type { AllocationCaller, LeaseNews } from '../../allocation/ports.js';
import type { PodOwner } from '../../front/pods.js';
import {
  AllocateRequest,
  AttachRequest,
  LeaseEvent as LeaseEventMessage,
  Lease as LeaseMessage,
  LeasePage,
  LeaseRef,
  ListRequest,
  ReleaseReply,
  allocatorService,
} from '../../generated/proto/pluginbroker/v1/allocator.js';
import { asError } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { ALLOCATION_REFUSALS, type AllocationRefusal } from '../../model/allocation-reasons.js';
import { isTrusted } from '../../model/ids.js';
import { leaseEnvs, type Lease } from '../../model/lease.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { encodeRetryInfo, STATUS_DETAILS_KEY } from '../wire/retry-info.js';
import { WireError } from '../wire/wire-error.js';
import type { GrpcDoor } from './grpc-door.js';
import { LeaseStream, onceForAll } from './lease-stream.js';

/** Fields in one request: more than any that is not refused has. */
const MOST_FIELDS = 4096;
/** Leases of one page: each at most a hundred KiB, and a page far below what clients take. */
const LEASES_A_PAGE = 16;

type Bytes = Buffer;
type Settle = (failure: unknown, bytes?: Bytes) => void;

/** The implementation of the service. */
export interface AllocBackend {
  readonly allocations: Allocations;
  /** Containers of pods that have devices of a resource, or of any where it is empty. */
  readonly pods: (resource: string) => readonly PodOwner[];
  readonly log: Log;
  readonly ownUid: number;
  /** Whether the kernel identifies callers. Where it cannot be asked, only the broker's own user can open the socket. */
  readonly isExact: boolean;
}

/** Serves the allocator on a door. Returns a function that ends the streams of a lease's followers. */
export function serveAllocator(door: GrpcDoor, backend: AllocBackend): { endStreams: () => void } {
  const { allocations, log } = backend;
  const streams = new Set<() => void>();
  const callerOf = (metadata: Metadata): AllocationCaller => {
    const caller = door.connectionOf(metadata)?.caller;
    const uid = caller?.uid ?? (backend.isExact ? undefined : backend.ownUid);
    if (uid === undefined) throw new UnknownCaller();
    const { pid, startTime } = caller ?? {};
    const process = pid === undefined || startTime === undefined ? undefined : { pid, startTime };
    return { uid, process };
  };
  const viewOf = (lease: Lease): Parameters<typeof LeaseMessage.encode>[0] =>
    leaseMessage(lease, allocations.cdiOf(lease.id));
  const encodeNews = onceForAll(({ type, reason, message, lease }) =>
    LeaseEventMessage.encode({ type, reason, message, lease: viewOf(lease) }),
  );

  /** A method with one answer. */
  const unary =
    <Q, T>(
      decode: (bytes: Bytes) => Q,
      work: (request: Q, caller: AllocationCaller, signal: AbortSignal) => Promise<Result<T>>,
      encode: (value: T) => Bytes,
    ) =>
    (call: ServerUnaryCall<Bytes, Bytes>, reply: sendUnaryData<Bytes>): void => {
      const gone = new AbortController();
      const left = (): void => gone.abort(new Error('the caller went away'));
      call.on('cancelled', left);
      const settle: Settle = (failure, bytes) => {
        call.off('cancelled', left); // the library says it of every call that is over
        const connection = door.connectionOf(call.metadata);
        connection?.answered(failure === undefined);
        if (failure === undefined) reply(null, bytes);
        else reply(statusOf(failure));
      };
      const run = async (): Promise<void> => {
        const result = await work(decode(call.request), callerOf(call.metadata), gone.signal);
        settle(result.ok ? undefined : result.refusal, result.ok ? encode(result.value) : undefined);
      };
      run().catch((failure: unknown) => {
        if (gone.signal.aborted) settle({ code: 'ALLOCATOR_STOPPING', message: 'the caller went away' });
        else settle(failureOf(failure, log));
      });
    };

  const list = (call: ServerWritableStream<Bytes, Bytes>): void => {
    try {
      const { resource } = ListRequest.decode(call.request, MOST_FIELDS);
      const caller = callerOf(call.metadata);
      const tooOften = allocations.tooOften(caller, 'leases');
      door.connectionOf(call.metadata)?.answered(tooOften === undefined);
      if (tooOften !== undefined) {
        call.emit('error', statusOf(tooOften.refusal));
        return;
      }
      const isOperator = isTrusted(caller.uid, backend.ownUid);
      const pods = isOperator ? backend.pods(resource).map(podMessage) : [];
      const leases = [...allocations.list(caller, resource), ...pods];
      let at = 0;
      // A page is made when the one before has left: a client that does not read costs a page, not all leases.
      const write = (): void => {
        while (at < leases.length) {
          const page = leases.slice(at, at + LEASES_A_PAGE);
          at += LEASES_A_PAGE;
          const bytes = LeasePage.encode({ leases: page.map((one) => ('answer' in one ? viewOf(one) : one)) });
          if (!call.write(bytes)) {
            call.once('drain', write);
            return;
          }
        }
        call.end();
      };
      write();
    } catch (failure) {
      call.emit('error', statusOf(failureOf(failure, log)));
    }
  };

  const attach = (call: ServerDuplexStream<Bytes, Bytes>): void => {
    const gone = new AbortController();
    const end = (failure?: AllocationRefusal): void => {
      if (gone.signal.aborted) return;
      streams.delete(stop);
      gone.abort(new Error('the stream ended'));
      if (failure === undefined) call.end();
      else call.emit('error', statusOf(failure));
    };
    const stop = (): void =>
      end({ code: 'ALLOCATOR_STOPPING', message: 'the broker is stopping; attach to its successor' });
    const write = (news: LeaseNews, sent: () => void): void => {
      if (!gone.signal.aborted) call.write(encodeNews(news), sent);
    };
    const stream = new LeaseStream({ write, end });
    streams.add(stop);
    call.on('cancelled', () => end());
    call.on('error', () => end());
    let hasBegun = false;
    call.on('data', (bytes: Bytes) => {
      if (hasBegun) return;
      hasBegun = true;
      try {
        const { lease } = AttachRequest.decode(bytes, MOST_FIELDS);
        const ref = { id: lease?.id ?? '', key: lease?.key ?? '' };
        const result = allocations.attach(ref, callerOf(call.metadata), stream.tell, gone.signal);
        if (!result.ok) end(result.refusal);
      } catch (failure) {
        end(failureOf(failure, log) as AllocationRefusal);
      }
    });
    call.on('end', () => {
      if (!hasBegun) end({ code: 'WANT_INVALID', message: 'the first message of Attach names the lease' });
    });
  };

  const encodeLease = (lease: Lease): Bytes => LeaseMessage.encode(viewOf(lease));
  const handlers: UntypedServiceImplementation = {
    Allocate: unary(
      (bytes) => () => AllocateRequest.decode(bytes, MOST_FIELDS),
      (request, caller, signal) => allocations.allocate(request, caller, signal),
      encodeLease,
    ),
    Renew: unary(
      (bytes) => LeaseRef.decode(bytes, MOST_FIELDS),
      (ref, caller) => allocations.renew(ref, caller),
      encodeLease,
    ),
    Release: unary(
      (bytes) => LeaseRef.decode(bytes, MOST_FIELDS),
      (ref, caller) => allocations.release(ref, caller),
      (wasHeld) => ReleaseReply.encode({ wasHeld }),
    ),
    List: list,
    Attach: attach,
  };
  const raw = (bytes: Bytes): Bytes => bytes;
  const definition: ServiceDefinition = Object.fromEntries(
    Object.entries(allocatorService).map(([name, { path, requestStream, responseStream }]) => [
      name,
      {
        path,
        requestStream,
        responseStream,
        requestSerialize: raw,
        requestDeserialize: raw,
        responseSerialize: raw,
        responseDeserialize: raw,
      },
    ]),
  );
  door.serve(definition, handlers);
  return {
    endStreams: () => {
      for (const stop of [...streams]) stop();
    },
  };
}

/** A lease as its owner sees it. */
function leaseMessage(lease: Lease, cdi: ReturnType<Allocations['cdiOf']>): Parameters<typeof LeaseMessage.encode>[0] {
  const { id, owner, answer, expiresAt, reason } = lease;
  const ours = cdi !== undefined && 'name' in cdi ? [cdi.name] : [];
  const warnings = cdi !== undefined && 'problem' in cdi ? [cdi.problem] : [];
  return {
    id,
    granted: lease.granted.map(({ resource, devices }) => ({
      resource,
      ids: devices.map((device) => device.id),
      numaNodes: [...new Set(devices.flatMap(({ numaNodes }) => numaNodes))].sort((a, b) => a - b),
    })),
    envs: leaseEnvs(lease),
    mounts: answer.mounts,
    devices: answer.devices,
    annotations: answer.annotations,
    cdiDevices: [...ours, ...answer.cdiDevices],
    state: lease.state,
    expiresAt: expiresAt === undefined ? '' : new Date(expiresAt).toISOString(),
    reason: reason ?? '',
    createdAt: new Date(lease.createdAt).toISOString(),
    owner: { bind: owner.bind, namespace: owner.namespace, name: owner.name, part: owner.part },
    uid: lease.uid,
    pid: owner.process?.pid ?? 0,
    key: lease.key ?? '',
    warnings,
  };
}

/** A pod in the place of a lease: its devices are the kubelet's to release, not ours. */
function podMessage({
  namespace,
  pod,
  container,
  since,
  devices,
}: PodOwner): Parameters<typeof LeaseMessage.encode>[0] {
  return {
    granted: [...devices].map(([resource, ids]) => ({ resource, ids })),
    state: 'active',
    createdAt: new Date(since).toISOString(),
    owner: { bind: 'pod', namespace, name: pod, part: container },
    uid: -1,
  };
}

/** Its connection was closed before the kernel could be asked, or the kernel does not say. */
class UnknownCaller extends Error {
  override readonly message = 'the kernel does not say who calls';
}

/** Any exception, as a refusal; an unexpected one is logged and answered INTERNAL. */
function failureOf(failure: unknown, log: Log): unknown {
  if (failure instanceof WireError) {
    return { code: 'WANT_INVALID', message: `the request cannot be decoded: ${failure.message}` };
  }
  if (failure instanceof UnknownCaller) return failure;
  log.error('allocation.call-failed', `a call at alloc.sock failed: ${asError(failure).message}`);
  return failure;
}

function statusOf(failure: unknown): { code: number; details: string; metadata: Metadata } {
  const metadata = new Metadata();
  if (failure instanceof UnknownCaller) {
    return { code: GRPC_STATUS.UNAUTHENTICATED, details: failure.message, metadata };
  }
  const refusal = failure as Partial<AllocationRefusal>;
  const spec = refusal.code === undefined ? undefined : ALLOCATION_REFUSALS[refusal.code];
  if (spec === undefined) return { code: GRPC_STATUS.INTERNAL, details: asError(failure).message, metadata };
  const code = GRPC_STATUS[spec.status];
  const details = `${refusal.code ?? ''}: ${refusal.message ?? ''}`;
  if (refusal.retryAfterMs !== undefined) {
    metadata.set(STATUS_DETAILS_KEY, encodeRetryInfo(code, details, refusal.retryAfterMs));
    metadata.set('grpc-retry-pushback-ms', String(Math.ceil(refusal.retryAfterMs)));
  }
  return { code, details, metadata };
}
