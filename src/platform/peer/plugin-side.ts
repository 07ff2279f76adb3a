// Sockets of plugins on this machine, and calls to them: the outside of the stages on the way of a registration.
import type { SocketPort } from '../../admission/ports.js';
import type { Listener } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import type { KeptSockets } from '../../reconcile/settling.js';
import type { RegistrationClient } from '../../registration/ports.js';
import type { PluginDialler, SocketRemover } from '../../session/ports.js';
import type { SocketPaths } from '../fs/socket-paths.js';
import type { Guarding } from '../grpc/owned-sockets.js';
import { pluginDialler } from '../grpc/plugin-dialler.js';
import { registrationClient } from '../grpc/registration-client.js';
import { answers } from '../grpc/unix-listener.js';
import { nextTurn } from '../time/next-turn.js';

/** Sockets of plugins, and calls to them. */
export interface PluginSide {
  readonly sockets: SocketPort & {
    /** The key of the incarnation at a path now. @param known where the directory does not answer */
    keyAt(path: string, known: string | undefined): string | undefined;
    /** A bare connect to the very socket at a path: whether somebody accepts. Links of ordinary users lead nowhere. */
    answers(path: string): Promise<boolean>;
  };
  readonly dialler: PluginDialler;
  readonly registrationClient: RegistrationClient;
  /** Removes plugins' sockets and puts them back. */
  readonly kept: SocketRemover & KeptSockets;
  /** Resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn). */
  readonly nextTurn: () => Promise<void>;
}

/** The listeners on sockets, as the kernel names them where it can be asked: Peers (platform/peer/peers). */
export interface PeerQuestions {
  listenerOf(socket: PinnedSocket): Listener;
  /** Undefined where the kernel cannot be asked. */
  isListening(path: string): boolean | undefined;
}

/**
 * The plugins' side, on real sockets.
 *
 * @param maxMessageBytes the largest answer of a plugin that is taken, asked at each connection
 */
export function pluginSide(
  maxMessageBytes: () => number,
  peers: PeerQuestions,
  guarding: Guarding,
  kept: PluginSide['kept'],
  paths: SocketPaths,
): PluginSide {
  const { clock } = guarding;
  return {
    sockets: {
      pin: paths.pin,
      keyAt: paths.keyAt,
      realDirectory: paths.realRoot,
      listenerOf: (socket) => peers.listenerOf(socket),
      answers: async (path) => {
        const pinned = paths.pin(path);
        if ('problem' in pinned) return false;
        try {
          return peers.isListening(pinned.dialPath) ?? (await answers(pinned.dialPath, clock));
        } finally {
          pinned.release();
        }
      },
    },
    dialler: pluginDialler(maxMessageBytes, guarding),
    registrationClient: registrationClient(guarding, (socket) => peers.listenerOf(socket)),
    kept,
    nextTurn,
  };
}
