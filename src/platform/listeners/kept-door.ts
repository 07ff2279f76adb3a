// A socket of ours with a gRPC service behind it, which is made again when somebody removed it or put something in its place.
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { UserFacts } from '../../model/ids.js';
import type { Settings } from '../../model/settings.js';
import { GrpcDoor, type Gate } from '../grpc/grpc-door.js';
import { UnixListener, type ListenerOptions } from '../grpc/unix-listener.js';
import { UnreadAnswers } from '../grpc/unread-answers.js';

/** The largest request: it names a pod, or the devices of one lease. */
const MAX_REQUEST_BYTES = 64 * 1024;

/** The ports of a door. */
export interface KeptDoorPorts extends UserFacts {
  readonly settings: { readonly discovery: Pick<Settings['discovery'], 'rescanMs'> };
  readonly clock: Clock;
  /** The guard of connections: ConnectionGate (flood/connection-gate). */
  readonly gate: Gate;
  /** Accepting failed; the listener goes on: `DescriptorReserve.acceptFailed` (flood/descriptor-reserve). */
  readonly acceptFailed: (failure: Error) => void;
  /** The socket cannot be made (one sentence); undefined: it is there. Conditions.set (journal/conditions). */
  readonly degraded: (why: string | undefined) => void;
}

/**
 * The service behind a door, and its place: `allocatorSocket` (platform/listeners/allocator-socket) and `podResourcesSocket`
 * (platform/listeners/pod-resources-socket) plan them.
 */
export interface DoorPlan {
  /** Concurrent calls on one connection. */
  readonly streams: number;
  /** Read before each attempt. @throws Error, told as `degraded`, when it cannot be known now */
  readonly place: () => Pick<ListenerOptions, 'path' | 'access' | 'replaces'>;
  /** Something that was in the way has another name now. */
  readonly movedAside: (message: string) => void;
  /** Adds the service. @returns called once the door is about to close */
  readonly serve: (door: GrpcDoor) => () => void;
}

/** Listens, looks whether the path still leads here, and listens again. A socket that cannot be made never costs the daemon. */
export class KeptDoor {
  readonly #ports: KeptDoorPorts;
  readonly #plan: DoorPlan;
  readonly #door: GrpcDoor;
  readonly #closes: () => void;
  #listener: UnixListener | undefined;
  #look: Alarm | undefined;
  #isClosed = false;

  constructor(ports: KeptDoorPorts, plan: DoorPlan) {
    this.#ports = ports;
    this.#plan = plan;
    const { clock, gate } = ports;
    const { accept, inTurn } = gate;
    const unread = new UnreadAnswers(ports);
    const { streams } = plan;
    this.#door = new GrpcDoor({ clock, accept, inTurn, unread, streams, maxRequestBytes: MAX_REQUEST_BYTES });
    this.#closes = plan.serve(this.#door);
  }

  /** Listens. Never rejects: a failure is reported, and the next look tries again. */
  async open(): Promise<void> {
    const { degraded } = this.#ports;
    try {
      await this.#bind();
      if (!this.#isClosed) degraded(undefined);
    } catch (failure) {
      if (!this.#isClosed) degraded((failure as Error).message);
    }
    if (!this.#isClosed) this.#lookLater();
  }

  /** Stops listening, and ends all connections; the file stays. @param callsMs milliseconds that are left for calls under way */
  async close(callsMs: () => number): Promise<void> {
    this.#closes();
    this.#isClosed = true;
    this.#look?.cancel();
    this.#listener?.close();
    await this.#door.hush();
    await this.#door.drain(callsMs());
  }

  async #bind(): Promise<void> {
    const { clock, acceptFailed } = this.#ports;
    const { place, movedAside } = this.#plan;
    const fresh = await UnixListener.bind({
      ...place(),
      isAtOnce: true,
      clock,
      onConnection: (socket) => this.#door.take(socket),
      onError: acceptFailed,
      onMovedAside: movedAside,
    });
    try {
      if (this.#isClosed) {
        fresh.close();
        return;
      }
      if (this.#listener === undefined) fresh.publishFirst();
      else fresh.publish();
    } catch (failure) {
      fresh.close();
      throw failure;
    }
    this.#listener?.close();
    this.#listener = fresh;
  }

  #lookLater(): void {
    const { clock, settings } = this.#ports;
    this.#look = clock.alarm(settings.discovery.rescanMs, () => {
      if (this.#listener?.isInPlace() === true) this.#lookLater();
      else void this.open();
    });
  }
}
