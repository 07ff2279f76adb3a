// Gives the core the sockets of this machine and the calls to plugins.
import { incarnationKey, type Listener } from '../model/ids.js';
import type { PinnedSocket } from '../model/plugin.js';
import { realDirectory } from '../platform/fs/directories.js';
import type { KeptSockets } from '../platform/fs/kept-sockets.js';
import { incarnationAt, pinSocket } from '../platform/fs/socket-pin.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { pluginDialler, registrationClient } from '../platform/grpc/plugin-dialler.js';
import { answers } from '../platform/grpc/unix-listener.js';
import { nextTurn } from '../platform/time/next-turn.js';
import type { LiveSettings, PluginSide } from './core.js';

/** Who listens on sockets, as the kernel says it where it can be asked. */
export interface PeerQuestions {
  listenerOf(socket: PinnedSocket): Listener;
  /** Undefined where the kernel cannot be asked. */
  isListening(path: string): boolean | undefined;
}

/** The plugins' side of the core, on real sockets. */
export function pluginSide(
  live: LiveSettings,
  peers: PeerQuestions,
  guarding: Guarding,
  kept: KeptSockets,
): PluginSide {
  const { clock } = guarding;
  return {
    sockets: {
      pin: pinSocket,
      keyAt,
      realDirectory,
      listenerOf: (socket) => peers.listenerOf(socket),
      answers: async (path) => peers.isListening(path) ?? answers(path, clock),
    },
    dialler: pluginDialler(() => live.admission.maxMessageBytes, guarding),
    registrationClient: registrationClient(guarding, (socket) => peers.listenerOf(socket)),
    kept,
    nextTurn,
  };
}

/** The key of the incarnation at a path now. */
export function keyAt(path: string): string | undefined {
  const incarnation = incarnationAt(path);
  return incarnation === undefined ? undefined : incarnationKey(incarnation);
}
