// What a session needs of the rest of the house.
import type { PinnedSocket } from '../model/plugin.js';

/** How a list stream ended; status 0 means the plugin closed it in order. */
export interface StreamEnd {
  readonly status: number;
  readonly details: string;
}

/** A ListAndWatch stream that is read only when asked, so that flow control holds the plugin back. */
export interface ListStream {
  /** The next message as bytes, or undefined when the stream has ended. One read at a time. */
  read(): Promise<Buffer | undefined>;
  readonly end: StreamEnd | undefined;
  cancel(): void;
}

/** What GetDevicePluginOptions answers. */
export interface PluginOptions {
  readonly preStartRequired: boolean;
  readonly preferredAllocationAvailable: boolean;
}

/** One connection to one incarnation of a device plugin. */
export interface PluginConnection {
  /** @throws FailedCall */
  options(limitMs: number, signal: AbortSignal): Promise<PluginOptions>;
  listAndWatch(): ListStream;
  /** Calls back once when the established connection is gone. */
  onLost(lost: () => void): void;
  close(): void;
}

/** Opens connections to exactly the socket that was pinned. */
export interface PluginDialler {
  dial(endpoint: PinnedSocket): PluginConnection;
}

/** The pace at which one session's lists are taken (contract 4). */
export interface UpdatePacer {
  /** Spends a permit if there is one. */
  tryTake(): boolean;
  /** Milliseconds until the next permit. */
  nextInMs(): number;
  /** What a list beyond the pace means. */
  readonly onExceed: 'coalesce' | 'disconnect';
  close(): void;
}

/** What became of a list. */
export type ListVerdict =
  | { readonly kind: 'applied'; readonly devices: number }
  | { readonly kind: 'equal'; readonly devices: number }
  | { readonly kind: 'refused'; readonly sentence: string };

/** Where lists go. */
export interface ListSink {
  /** Takes the newest list of an instance; decodes it only when it differs from the last one. */
  offer(instanceId: string, resource: string, raw: Buffer, signal: AbortSignal): Promise<ListVerdict>;
  /** Devices in the last list known of an instance; undefined when none was ever taken. */
  known(instanceId: string): number | undefined;
}

/** Moves a plugin's socket aside, so that the plugin registers afresh as after a kubelet restart. */
export interface SocketMover {
  /** Whether it was moved; false when the path is not that incarnation any more, is ours, or cannot be moved. */
  moveAside(socket: PinnedSocket): boolean;
}
