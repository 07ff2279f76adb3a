// The watcher door's calls to registration sockets, to exactly the socket that was pinned.
import type { Alarm } from '../../kernel/clock.js';
import { callerBehind, type Caller, type Listener } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { PluginInfo, RegistrationClient, RegistrationTalk } from '../../registration/ports.js';
import {
  InfoRequest,
  PluginInfo as PluginInfoMessage,
  registrationService,
  RegistrationStatus,
} from '../../generated/proto/pluginregistration/v1/pluginregistration.js';
import { connectFailure } from './connect-failure.js';
import type { Guarding } from './owned-sockets.js';
import { decoded } from './plugin-calls.js';
import { CallFailed, PluginChannel } from './plugin-client.js';
import { transportFault } from './transport-fault.js';

/** Answers of registration sockets are small: names, versions, a path. Longer ones are not decoded. */
const MAX_INFO_BYTES = 16 * 1024;
/** Fields in it, one for each version: admission reads as many versions as have a thousand characters together. */
const MOST_FIELDS = 2048;
/** A connection is kept this long for the call after GetInfo: an older one may be gone, and is a descriptor of each side. */
const KEEP_MS = 5000;
/** Connections kept at once; of more each call has its own. */
const MOST_KEPT = 256;

const { GetInfo, NotifyRegistrationStatus } = registrationService;

/** The shared part of all talks. */
interface Shared {
  readonly guarding: Guarding;
  readonly listenerOf: (socket: PinnedSocket) => Listener;
  /** Connections that wait for their next call. */
  kept: number;
}

/**
 * Calls registration sockets.
 *
 * @param guarding the guards of connections
 * @param listenerOf the listener on a socket, as the kernel names it: `Peers.listenerOf` (platform/peer/peers)
 */
export function registrationClient(
  guarding: Guarding,
  listenerOf: (socket: PinnedSocket) => Listener,
): RegistrationClient {
  const shared: Shared = { guarding, listenerOf, kept: 0 };
  return { open: (socket, signal) => new Talk(shared, socket, signal) };
}

/** A connection that waits for its next call. */
interface Kept {
  readonly channel: PluginChannel;
  readonly tooOld: Alarm;
}

class Talk implements RegistrationTalk {
  readonly #shared: Shared;
  readonly #pin: PinnedSocket;
  readonly #signal: AbortSignal;
  #kept: Kept | undefined;
  /** Known once GetInfo was answered. */
  #listener: Listener | undefined;
  #isClosed = false;

  constructor(shared: Shared, socket: PinnedSocket, signal: AbortSignal) {
    this.#shared = shared;
    this.#signal = signal;
    // The library may connect again at any time until a channel is closed: that must be the socket that was checked.
    this.#pin = socket.retain();
    signal.addEventListener('abort', this.close, { once: true });
  }

  async getInfo(limitMs: number): Promise<PluginInfo> {
    // Microseconds where a channel costs a millisecond: a directory may be full of sockets on which nobody listens.
    this.#listener = this.#shared.listenerOf(this.#pin);
    if ('error' in this.#listener && this.#listener.error !== 'EAGAIN') throw this.#unheard(this.#listener.error);
    const channel = this.#dial();
    let info: PluginInfo | undefined;
    try {
      const answer = await channel.unary(GetInfo.path, InfoRequest.encode({}), limitMs, this.#signal);
      const decodedInfo = decoded(() => PluginInfoMessage.decode(answer, MOST_FIELDS));
      // Its queue was full before. Nobody is let in whose user is not known: a plugin could choose when that is so.
      if ('error' in this.#listener) this.#listener = this.#shared.listenerOf(this.#pin);
      if ('error' in this.#listener) throw this.#unheard(this.#listener.error);
      info = decodedInfo;
      return info;
    } finally {
      if (info === undefined) channel.close();
      else this.#keep(channel);
    }
  }

  async notify(error: string | undefined, limitMs: number): Promise<void> {
    const status = RegistrationStatus.encode({ pluginRegistered: error === undefined, error: error ?? '' });
    const kept = this.#take();
    if (kept !== undefined) {
      try {
        await kept.unary(NotifyRegistrationStatus.path, status, limitMs, this.#signal);
        return;
      } catch (failure) {
        // Its plugin may have ended a connection that was idle: that is no answer.
        if (!isOfConnection(failure as CallFailed)) throw failure;
      } finally {
        kept.close();
      }
    }
    const channel = this.#dial();
    try {
      await channel.unary(NotifyRegistrationStatus.path, status, limitMs, this.#signal);
    } finally {
      channel.close();
    }
  }

  caller(): Caller | undefined {
    // The kernel remembers the listener on a socket from the moment of listen(2).
    return this.#listener === undefined || 'error' in this.#listener ? undefined : callerBehind(this.#listener);
  }

  #unheard(error: string): CallFailed {
    const status = GRPC_STATUS.UNAVAILABLE;
    const { path, uid } = this.#pin;
    return new CallFailed(status, connectFailure(error, path, uid), transportFault(status, error));
  }

  readonly close = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#signal.removeEventListener('abort', this.close);
    this.#take()?.close();
    this.#pin.release();
  };

  #dial(): PluginChannel {
    const { dialPath, path, uid } = this.#pin;
    return new PluginChannel(dialPath, MAX_INFO_BYTES, this.#shared.guarding, path, uid);
  }

  #keep(channel: PluginChannel): void {
    if (this.#isClosed || this.#shared.kept >= MOST_KEPT) {
      channel.close();
      return;
    }
    this.#shared.kept += 1;
    const tooOld = this.#shared.guarding.clock.alarm(KEEP_MS, () => this.#take()?.close());
    this.#kept = { channel, tooOld };
  }

  /** The connection of the call before, no longer kept. */
  #take(): PluginChannel | undefined {
    const kept = this.#kept;
    if (kept === undefined) return undefined;
    this.#kept = undefined;
    this.#shared.kept -= 1;
    kept.tooOld.cancel();
    return kept.channel;
  }
}

/** Whether a call failed because of the connection it was made on. */
function isOfConnection({ fault }: CallFailed): boolean {
  return fault !== undefined && fault !== 'no-answer' && fault !== 'given-up';
}
