// The ports of admission.
import type { Listener } from '../model/ids.js';
import type { PinnedSocket, PinProblem } from '../model/plugin.js';
import type { AdmissionSettings, Paths, PluginPolicy } from '../model/settings.js';

/** The file system and kernel, as admission sees them. `pluginSide` (platform/peer/plugin-side) has them. */
export interface SocketPort {
  pin(path: string): PinnedSocket | PinProblem;
  /** The process that listens on a pinned socket; the owner of the file where the kernel cannot be asked. */
  listenerOf(socket: PinnedSocket): Listener;
  /** A directory's real path, links followed; undefined when it does not exist. */
  realDirectory(path: string): string | undefined;
}

/**
 * The configuration that admission follows; read each time, because it can be reloaded. LiveConfig (config/live-config) has it.
 */
export interface AdmissionPolicy {
  readonly admission: AdmissionSettings;
  readonly settings: { readonly paths: Paths };
  /** Allow and deny globs of names. */
  nameAllowed(name: string): boolean;
  policyFor(type: string, name: string, socket: string): PluginPolicy;
}
