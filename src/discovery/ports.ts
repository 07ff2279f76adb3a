// The ports of discovery to the registry directory, and the room that it has.
import type { PinnedSocket } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';

/** The directory, as this stage needs it. `registryDirectory` (platform/fs/registry-directory) reads it. */
export interface RegistryPort {
  /** All files that may be sockets, hidden names left out, read as they are taken; undefined for an entry that can be none. */
  list(): Iterable<string | undefined>;
  /** Where sockets are expected: those of plugins of the checkpoint. */
  expected(): Iterable<string>;
  /** Pins the socket at a path; undefined when there is none, or why it cannot be used. */
  pin(path: string): PinnedSocket | Unusable | undefined;
  /**
   * The incarnation key at a path without pinning it; undefined when there is no socket.
   *
   * @param known the key where the directory does not answer
   */
  keyAt(path: string, known: string | undefined): string | undefined;
  /** Something was said of a path that is no socket: if it is a directory, changes in it are told from now on. */
  follow(path: string): BelowDirectory;
  /** The owner of a path: the user whose uid can fill its directory, or made the file; -1: not to be seen. @param known where the directory does not answer */
  ownerOf(path: string, known?: number): number;
  /** Whether the path or a directory above it has a hidden name. */
  isHidden(path: string): boolean;
  /** The name directly below the registry directory to which a path belongs. */
  topOf(path: string): string;
}

/** The paths to be looked at because of something that is no socket. */
export interface BelowDirectory {
  /** A directory that was here is gone, or another one has come: the known paths below it are to be looked at. */
  readonly isOther: boolean;
  /**
   * Paths in a directory whose changes were not reported before, read as they are taken; undefined for an entry that is nothing.
   */
  readonly entries?: Iterable<string | undefined>;
}

/** Why a socket that is there cannot be a plugin's. */
export interface Unusable {
  readonly refusal: Refusal;
}

/** How much room there is. */
export interface DiscoverySpace {
  /** discovery.rescan, milliseconds. */
  readonly rescanMs: number;
  /** discovery.maxSockets: sockets known at most, each of which costs descriptors. */
  readonly maxSockets: number;
  /**
   * The users whose sockets may take all the room: root and the broker's own, by `isTrusted` (model/ids). One of the others gets a
   * quarter, all together three.
   */
  readonly isTrusted: (uid: number) => boolean;
}
