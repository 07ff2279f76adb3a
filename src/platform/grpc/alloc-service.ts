// pluginbroker.v1.Allocator on the wire: decoding is ours, so that a request that cannot be decoded is a refusal with a
// code like any other. The kernel identifies the caller by its connection; the request cannot change that.
import type {
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
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
import type { Log } from '../../kernel/log.js';
import type { AllocationRefusal } from '../../model/allocation-reasons.js';
import { isTrusted, UNKNOWN_USER } from '../../model/ids.js';
import type { Lease, ProcessLife } from '../../model/lease.js';
import { procStat } from '../process/proc-stat.js';
import { leaseMessage, podMessage, type LeaseFields } from './alloc-messages.js';
import { failureOf, statusOf, UnknownCaller } from './alloc-status.js';
import type { BytesMethod, GrpcDoor } from './grpc-door.js';
import type { RequestBytes } from './request-bytes.js';
import { sendPages } from './lease-pages.js';
import { LeaseStream, onceForAll } from './lease-stream.js';

/** Fields in one request: more than any that is not refused has. */
const MOST_FIELDS = 4096;

type Bytes = Buffer;

/** The implementation of the service. */
export interface AllocBackend {
  readonly allocations: Allocations;
  /** Containers of pods that have devices of a resource, or of any where it is empty: `Owners.pods` (front/owners). */
  readonly pods: (resource: string) => readonly PodOwner[];
  readonly log: Log;
  readonly ownUid: number;
  /** Whether the kernel identifies callers. Where it cannot be asked, only the broker's own user can open the socket. */
  readonly isExact: boolean;
}

/** A method with one answer: decodes its request, does the work, and encodes the answer. */
interface Method<Q, T> {
  readonly decode: (request: RequestBytes) => Q;
  readonly work: (request: Q, caller: AllocationCaller, signal: AbortSignal) => Promise<Result<T>>;
  readonly encode: (value: T, caller: AllocationCaller) => Bytes;
}

/** Serves the allocator on a door. `endStreams` ends the streams of lease followers. */
export function serveAllocator(door: GrpcDoor, backend: AllocBackend): { endStreams: () => void } {
  const calls = new AllocatorCalls(door, backend);
  door.serveBytes(calls.methods());
  return { endStreams: () => calls.endStreams() };
}

/** Answers the calls of one door. */
class AllocatorCalls {
  readonly #door: GrpcDoor;
  readonly #backend: AllocBackend;
  /** One function for each stream of a lease follower, which ends it. */
  readonly #streams = new Set<() => void>();
  /** The calls to which leases are listed, with the uid of their caller. */
  readonly #lists = new Map<object, number>();
  readonly #encodeNews = onceForAll(({ type, reason, message, lease }) =>
    LeaseEventMessage.encode({ type, reason, message, lease: this.#fieldsOf(lease) }),
  );

  constructor(door: GrpcDoor, backend: AllocBackend) {
    this.#door = door;
    this.#backend = backend;
  }

  methods(): readonly BytesMethod[] {
    const { Allocate, Renew, Release, List, Attach } = allocatorService;
    const { allocations } = this.#backend;
    const encode = (lease: Lease, { uid }: AllocationCaller): Bytes =>
      allocations.shares.telling(uid, () => LeaseMessage.encode(this.#fieldsOf(lease)));
    const refOf = (request: RequestBytes): ReturnType<typeof LeaseRef.decode> =>
      LeaseRef.decode(request.take(), MOST_FIELDS);
    const allocate = this.#unary({
      decode: (request) => () => AllocateRequest.decode(request.take(), MOST_FIELDS),
      work: (request, caller, signal) => this.#allocate(request, caller, signal),
      encode,
    });
    const renew = this.#unary({ decode: refOf, work: (ref, caller) => allocations.renew(ref, caller), encode });
    const release = this.#unary({
      decode: refOf,
      work: (ref, caller) => allocations.release(ref, caller),
      encode: (released) => ReleaseReply.encode(released),
    });
    return [
      [Allocate, allocate],
      [Renew, renew],
      [Release, release],
      [List, (call: ServerWritableStream<RequestBytes, Bytes>) => this.#list(call)],
      [Attach, (call: ServerDuplexStream<RequestBytes, Bytes>) => this.#attach(call)],
    ];
  }

  endStreams(): void {
    for (const stop of [...this.#streams]) stop();
  }

  /** @throws UnknownCaller */
  #callerOf(metadata: Metadata): AllocationCaller {
    const { isExact, ownUid } = this.#backend;
    const caller = this.#door.connectionOf(metadata)?.caller;
    const uid = caller?.uid ?? (isExact ? undefined : ownUid);
    if (uid === undefined || uid === UNKNOWN_USER) throw new UnknownCaller();
    const { pid, startTime } = caller ?? {};
    const process = pid === undefined || startTime === undefined ? undefined : { pid, startTime };
    return { uid, process };
  }

  async #allocate(
    decode: () => AllocateRequest,
    caller: AllocationCaller,
    signal: AbortSignal,
  ): Promise<Result<Lease>> {
    const { allocations, isExact } = this.#backend;
    if (isExact) return allocations.allocate(decode, caller, signal);
    const request = decode();
    return allocations.allocate(request, { ...caller, process: processOf(request.owner?.pid ?? 0) }, signal);
  }

  #fieldsOf(lease: Lease): LeaseFields {
    return leaseMessage(lease, this.#backend.allocations.cdiOf(lease.id));
  }

  /** A list that nobody reads keeps ids, and no leases that have ended. */
  #fieldsOfId(id: string): LeaseFields | undefined {
    const lease = this.#backend.allocations.leaseOf(id);
    return lease === undefined ? undefined : this.#fieldsOf(lease);
  }

  #unary<Q, T>({ decode, work, encode }: Method<Q, T>): handleUnaryCall<RequestBytes, Bytes> {
    return (call: ServerUnaryCall<RequestBytes, Bytes>, reply: sendUnaryData<Bytes>): void => {
      const gone = new AbortController();
      const left = (): void => gone.abort(new Error('the caller went away'));
      call.on('cancelled', left);
      const settle = (failure: unknown, bytes?: Bytes): void => {
        call.off('cancelled', left); // the library says it of every call that is over
        this.#door.connectionOf(call.metadata)?.answered(failure === undefined);
        if (failure === undefined) reply(null, bytes);
        else reply(statusOf(failure));
      };
      const run = async (): Promise<void> => {
        const request = decode(call.request);
        const caller = this.#callerOf(call.metadata);
        const result = await work(request, caller, gone.signal);
        settle(result.ok ? undefined : result.refusal, result.ok ? encode(result.value, caller) : undefined);
      };
      run().catch((failure: unknown) => {
        if (gone.signal.aborted) settle({ code: 'ALLOCATOR_STOPPING', message: 'the caller went away' });
        else settle(failureOf(failure, this.#backend.log));
      });
    };
  }

  #list(call: ServerWritableStream<RequestBytes, Bytes>): void {
    const { allocations, ownUid, pods, log } = this.#backend;
    const { shares } = allocations;
    try {
      const { resource } = ListRequest.decode(call.request.take(), MOST_FIELDS);
      const caller = this.#callerOf(call.metadata);
      const refused = shares.tooOften(caller.uid, 'leases') ?? shares.ofListing(caller.uid, [...this.#lists.values()]);
      this.#door.connectionOf(call.metadata)?.answered(refused === undefined);
      if (refused !== undefined) {
        call.emit('error', statusOf(refused.refusal));
        return;
      }
      this.#lists.set(call, caller.uid);
      this.#door.onceClosed(call.metadata, () => this.#lists.delete(call));
      const ofPods = isTrusted(caller.uid, ownUid) ? pods(resource).map(podMessage) : [];
      const listed = [...allocations.list(caller, resource).map(({ id }) => id), ...ofPods];
      const pageOf = (one: string | LeaseFields): Bytes | undefined => {
        const fields = typeof one === 'string' ? this.#fieldsOfId(one) : one;
        return fields === undefined ? undefined : LeasePage.encode({ leases: [fields], callerUid: caller.uid });
      };
      const inTurn = <R>(make: () => R): Promise<R> => shares.tellingPage(caller.uid, make);
      sendPages(call, listed, pageOf, inTurn, (failure) => call.emit('error', statusOf(failureOf(failure, log))));
    } catch (failure) {
      this.#door.connectionOf(call.metadata)?.answered(false);
      call.emit('error', statusOf(failureOf(failure, log)));
    }
  }

  #attach(call: ServerDuplexStream<RequestBytes, Bytes>): void {
    const gone = new AbortController();
    const end = (failure?: AllocationRefusal): void => {
      if (gone.signal.aborted) return;
      this.#streams.delete(stop);
      gone.abort(new Error('the stream ended'));
      if (failure === undefined) call.end();
      else call.emit('error', statusOf(failure));
    };
    const stop = (): void =>
      end({ code: 'ALLOCATOR_STOPPING', message: 'the broker is stopping; attach to its successor' });
    const write = (news: LeaseNews, sent: () => void): void => {
      if (gone.signal.aborted) return;
      const bytes = this.#backend.allocations.shares.telling(news.lease.uid, () => this.#encodeNews(news));
      call.write(bytes, sent);
    };
    const stream = new LeaseStream({ write, end });
    this.#streams.add(stop);
    call.on('cancelled', () => end());
    call.on('error', () => end());
    const answered = (failure?: AllocationRefusal): void => {
      this.#door.connectionOf(call.metadata)?.answered(failure === undefined);
      if (failure !== undefined) end(failure);
    };
    let hasBegun = false;
    call.on('data', (first: RequestBytes) => {
      if (hasBegun) return;
      hasBegun = true;
      answered(this.#follow(first.take(), call.metadata, stream, gone.signal));
    });
    call.on('end', () => {
      if (!hasBegun) answered({ code: 'WANT_INVALID', message: 'the first message of Attach names the lease' });
    });
  }

  /** Has a stream follow the lease that its first message names, until `signal`. Why not, where it may not. */
  #follow(first: Bytes, metadata: Metadata, stream: LeaseStream, signal: AbortSignal): AllocationRefusal | undefined {
    const { allocations, log } = this.#backend;
    try {
      const { lease } = AttachRequest.decode(first, MOST_FIELDS);
      const ref = { id: lease?.id ?? '', key: lease?.key ?? '' };
      const result = allocations.attach(ref, this.#callerOf(metadata), stream.tell, signal);
      return result.ok ? undefined : result.refusal;
    } catch (failure) {
      return failureOf(failure, log) as AllocationRefusal;
    }
  }
}

/** The process that a caller says it is: only where none but the broker's own user and root may call. */
function processOf(pid: number): ProcessLife | undefined {
  const startTime = pid > 0 ? procStat(pid)?.startTime : undefined;
  return startTime === undefined ? undefined : { pid, startTime };
}
