import { Client, type ChannelOptions } from '@grpc/grpc-js';
import type { Clock } from '../../kernel/clock.js';
import { DEFAULT_GUARD } from '../http2/default-guard.js';
import { OwnedSockets } from './owned-sockets.js';

/** A grpc-js client of the programs beside the daemon: it owns its connection, and is guarded against its server. */
export class GuardedClient extends Client {
  readonly #sockets: OwnedSockets;

  /**
   * @param address as grpc-js takes it, `unix:/path` for example
   * @param options beside those that every client of ours has: a connection of its own, no retries, no records of channels
   */
  constructor(address: string, clock: Clock, options: ChannelOptions = {}) {
    const sockets = new OwnedSockets({ clock, guard: () => DEFAULT_GUARD }, address);
    super(address, sockets.credentials, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
      'grpc.enable_retries': 0,
      ...options,
    });
    this.#sockets = sockets;
  }

  /** Closes the connection, for certain. Idempotent. */
  override close(): void {
    super.close();
    this.#sockets.close();
  }
}
