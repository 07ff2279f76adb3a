// The ports of a session.
import type { ListVerdict } from '../model/device-list.js';
import type { DeviceCalls, DeviceOptions } from '../model/device-use.js';
import type { StreamEnd } from '../model/failed-call.js';
import type { PinnedSocket } from '../model/plugin.js';

/**
 * A ListAndWatch stream that is read only when asked, so that flow control holds the plugin back. `PluginChannel.stream`
 * (platform/grpc/plugin-client) opens it.
 */
export interface ListStream {
  /** The next message as bytes, or undefined when the stream has ended. One read at a time. */
  read(): Promise<Buffer | undefined>;
  /**
   * The first so many messages that were read are not held any more: until then they take up room of the plugin's user, even
   * after the end of the stream. `cancel` says so of all.
   */
  done(messages: number): void;
  /** Set once the stream has ended. */
  readonly end: StreamEnd | undefined;
  /** Ends it from our side; a read that waits gets undefined. Idempotent. */
  cancel(): void;
}

/**
 * One connection to one incarnation of a device plugin. `pluginDialler` (platform/grpc/plugin-dialler) makes it of a
 * PluginChannel.
 */
export interface PluginConnection {
  /** @throws FailedCall */
  options(limitMs: number, signal: AbortSignal): Promise<DeviceOptions>;
  listAndWatch(): ListStream;
  readonly calls: DeviceCalls;
  /** Calls back once when the established connection is gone. */
  onLost(lost: () => void): void;
  close(): void;
}

/** Opens connections to exactly the socket that was pinned. `pluginDialler` (platform/grpc/plugin-dialler) does. */
export interface PluginDialler {
  dial(endpoint: PinnedSocket): PluginConnection;
}

/** Where lists go: Inventory (inventory/inventory). */
export interface ListSink {
  /** Takes the newest list of an instance; decodes it only when it differs from the last one. */
  offer(instanceId: string, resource: string, raw: Buffer, signal: AbortSignal): Promise<ListVerdict>;
  /** Devices in the last list known of an instance; undefined when none was ever taken. */
  known(instanceId: string): number | undefined;
}

/**
 * Removes a plugin's socket, so that the plugin registers afresh as after a kubelet restart: KeptSockets
 * (platform/fs/kept-sockets).
 */
export interface SocketRemover {
  /**
   * Removes the name of a socket after a second, private one was made, with which it can be put back.
   *
   * @returns why it was not removed: the path leads to another socket by now, or no second name could be made; undefined
   *   when it was
   */
  remove(socket: PinnedSocket): string | undefined;
}
