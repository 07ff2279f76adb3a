// The ports of the doors.
import type { Caller } from '../model/ids.js';
import type { PinnedSocket } from '../model/plugin.js';

/** A decoded pluginregistration.PluginInfo. */
export interface PluginInfo {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/**
 * Calls to registration sockets, to exactly the socket that was pinned: `registrationClient` (platform/grpc/registration-client).
 */
export interface RegistrationClient {
  /** Begins to talk to one socket. Nothing is dialled yet. @param signal ends calls under way and closes it */
  open(socket: PinnedSocket, signal: AbortSignal): RegistrationTalk;
}

/**
 * One attempt's talk with a registration socket: the process that answered GetInfo is told the outcome on the same connection.
 * Talk (platform/grpc/registration-client) is it.
 */
export interface RegistrationTalk {
  /** @throws FailedCall (model/failed-call) */
  getInfo(limitMs: number): Promise<PluginInfo>;
  /**
   * @param error why not, or undefined when the plugin was registered
   * @throws FailedCall
   */
  notify(error: string | undefined, limitMs: number): Promise<void>;
  /** The process that listens on the socket. */
  caller(): Caller | undefined;
  /** Closes its connection. Idempotent. */
  close(): void;
}
