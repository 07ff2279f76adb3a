// PodResources on its socket. Whoever may enter its directory sees all owners, so the directory is not for everybody.
import type { Socket } from 'node:net';
import path from 'node:path';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Resource } from '../inventory/resources.js';
import type { LeaseSource } from '../model/lease.js';
import type { Settings } from '../model/settings.js';
import { makeDirectory } from '../platform/fs/directories.js';
import { GrpcDoor, type Accept } from '../platform/grpc/grpc-door.js';
import { servePodResources } from '../platform/grpc/pod-resources-service.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { UnixListener } from '../platform/grpc/unix-listener.js';
import { kubeletAnswers } from '../platform/kubelet/pod-resources-client.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { devicesOf } from '../platform/wire/list-decoder.js';
import { podEncoder } from '../platform/wire/pod-encoder.js';
import { CallerRates } from '../podresources/caller-rates.js';
import { LeaseAnswers } from '../podresources/lease-answers.js';
import type { UsableList } from '../podresources/ports.js';
import { UpstreamAnswers } from '../podresources/upstream.js';

/** The name that consumers know. */
const SOCKET = 'kubelet.sock';
/** The directory says who may connect. */
const SOCKET_MODE = 0o666;
/** Concurrent calls on one connection. */
const STREAMS = 16;
/** A request names a pod at most. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Calls under way are given this long when the broker stops. */
const DRAIN_MS = 500;

/** What is needed. */
export interface PodResourcesDoorPorts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly accept: Accept;
  /** Accepting failed; the listener goes on. */
  readonly acceptFailed: (failure: Error) => void;
  readonly leases: LeaseSource;
  readonly usable: () => readonly UsableList[];
  /** The socket cannot be opened, or an answer is not complete (one sentence); undefined: that is over. */
  readonly degraded: (
    what: 'pod-resources' | 'pod-resources-answers' | 'pod-resources-upstream',
    why: string | undefined,
  ) => void;
  /** What connections to a kubelet are guarded with. */
  readonly guarding: Guarding;
  /** Whether a kubelet waits for an Allocate of ours. */
  readonly isAllocating: () => boolean;
}

/** The socket, its directory and what answers there. */
export class PodResourcesDoor {
  readonly #ports: PodResourcesDoorPorts;
  readonly #door: GrpcDoor;
  readonly #upstream: UpstreamAnswers | undefined;
  #listener: UnixListener | undefined;

  constructor(ports: PodResourcesDoorPorts) {
    this.#ports = ports;
    const { clock, log, metrics, accept, leases, usable, degraded } = ports;
    const rates = new CallerRates(() => clock.mono());
    const left = new Map<string, number>();
    const own = new LeaseAnswers({
      leases,
      usable,
      encoder: podEncoder,
      nextTurn,
      incomplete: (what, count) => {
        left.set(what, count);
        degraded('pod-resources-answers', incomplete(left));
      },
    });
    const { upstream } = ports.settings.podResources;
    if (upstream !== undefined) {
      this.#upstream = new UpstreamAnswers(own, {
        kubelet: kubeletAnswers(upstream, ports.guarding),
        clock,
        mayList: () => !ports.isAllocating(),
        unanswered: (why) => degraded('pod-resources-upstream', why),
        incomplete: (count) => {
          left.set('upstream', count);
          degraded('pod-resources-answers', incomplete(left));
        },
      });
    }
    this.#door = new GrpcDoor({ clock, accept, streams: STREAMS, maxRequestBytes: MAX_REQUEST_BYTES });
    servePodResources(this.#door, {
      backend: this.#upstream ?? own,
      mayAsk: (caller) => rates.take(caller),
      count: (method, result) => metrics.podResources(method, result),
      log,
    });
  }

  /** Opens the socket. Never rejects: without it leases work, and the broker says what is wrong. */
  async open(): Promise<void> {
    const { settings, clock, log, acceptFailed, degraded } = this.#ports;
    const directory = settings.paths.podResources;
    try {
      makeDirectory(directory);
      this.#listener = await UnixListener.bind({
        path: path.join(directory, SOCKET),
        access: { mode: SOCKET_MODE },
        clock,
        replaces: false,
        onConnection: (socket: Socket) => this.#door.take(socket),
        onError: acceptFailed,
        onMovedAside: (message) => log.warn('pod-resources.moved-aside', message),
      });
      this.#listener.publish();
      degraded('pod-resources', undefined);
    } catch (failure) {
      degraded('pod-resources', `who has which devices cannot be asked (PodResources): ${(failure as Error).message}`);
    }
  }

  /** Stops listening and ends all connections, those with a call under way a moment later. */
  async close(): Promise<void> {
    this.#upstream?.close();
    await this.#listener?.close();
    await this.#door.drain(DRAIN_MS);
  }
}

/** The lists of resources whose devices can be used now. */
export function usableLists(resources: Iterable<Resource>): UsableList[] {
  return [...resources]
    .filter(({ allocatable }) => allocatable > 0)
    .map(({ name, holding }) => ({ resource: name, list: holding, devices: () => devicesOf(holding.raw) }));
}

function incomplete(left: ReadonlyMap<string, number>): string | undefined {
  const owners = left.get('List') ?? 0;
  const pods = left.get('upstream') ?? 0;
  const resources = left.get('GetAllocatableResources') ?? 0;
  if (owners + pods + resources === 0) return undefined;
  const what = [
    ...(pods === 0 ? [] : [`${String(pods)} pods of the kubelet are not in List (Get has them)`]),
    ...(owners === 0 ? [] : [`${String(owners)} owners are not in List (Get has them)`]),
    ...(resources === 0 ? [] : [`devices of ${String(resources)} resources are not in GetAllocatableResources`]),
  ];
  return `PodResources answers are cut, because clients take 4 MiB at most: ${what.join(', and ')}`;
}
