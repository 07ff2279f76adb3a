// What the doors need of the rest of the house.
import type { Caller } from '../model/ids.js';
import type { PinnedSocket } from '../model/plugin.js';

/** A decoded pluginregistration.PluginInfo. */
export interface PluginInfo {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** Calls to a registration socket at the watcher door. Each is a connection of its own, to exactly that socket. */
export interface RegistrationClient {
  /** @throws FailedCall (model/failed-call) */
  getInfo(socket: PinnedSocket, limitMs: number, signal: AbortSignal): Promise<PluginInfo>;
  /**
   * @param error why not, or undefined when the plugin was registered
   * @throws FailedCall
   */
  notify(socket: PinnedSocket, error: string | undefined, limitMs: number, signal: AbortSignal): Promise<void>;
  /** The process that listens on the socket. */
  callerOf(socket: PinnedSocket): Caller | undefined;
}
