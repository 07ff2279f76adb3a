// The ports by which CDI files reach the file system.

/** A path of the host as it was found. Links are followed, because readers of CDI files do not follow them. */
export type HostNode =
  | { readonly kind: 'node'; readonly path: string }
  /** All device nodes below it, each by its path from there. */
  | { readonly kind: 'directory'; readonly nodes: readonly { readonly below: string; readonly path: string }[] }
  | { readonly kind: 'missing' }
  /** A file, a socket, too many nodes, or a path that may not be looked at: in words. */
  | { readonly kind: 'unusable'; readonly what: string };

/**
 * Looks at the paths of one lease on the host, one after the other: plugins choose them, and every user that may register a
 * plugin may fill a directory. One bound holds for everything that is looked at in the directories of all paths together. Rejects
 * only when the signal aborts. `lookAtHost` (platform/fs/host-node) looks.
 */
export type LookAtHost = (paths: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, HostNode>>;

/**
 * The directory that container engines read: `cdiDirectory` (platform/fs/cdi-directory). Names are those of files in it. All
 * methods but `text` reject with the failure.
 */
export interface CdiDirectory {
  /** Where it is. */
  readonly path: string;
  /** Makes it if it is missing, so that engines that start now find something to watch. */
  prepare(): Promise<void>;
  names(): Promise<readonly string[]>;
  /** The text of a file; undefined when it is gone or cannot be read. */
  text(name: string): Promise<string | undefined>;
  /** Writes a file whole, under a name that no engine reads. */
  write(name: string, text: string): Promise<void>;
  /** Gives a file that was written its name. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. Fine when it is gone. */
  remove(name: string): Promise<void>;
}
