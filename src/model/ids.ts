// Names of things. Values from outside get their type at the border and are plain strings inside.

/** The plugin types the kubelet knows; further types come by adding a handler. */
export const DEVICE_PLUGIN = 'DevicePlugin';
export const CSI_PLUGIN = 'CSIPlugin';
export const DRA_PLUGIN = 'DRAPlugin';

/** The one version of the device plugin API that registers, exactly as plugins send it. */
export const DEVICE_PLUGIN_VERSION = 'v1beta1';

/** A plugin's type and name. */
export interface PluginId {
  readonly type: string;
  readonly name: string;
}

/** One string for a plugin, for maps and logs. The separator cannot occur in a type. */
export function pluginKey(id: PluginId): string {
  return `${id.type}/${id.name}`;
}

/** One life of a socket: device, inode and birth time (change time where the file system has no birth time). */
export interface Incarnation {
  readonly dev: string;
  readonly ino: string;
  /** Nanoseconds, as text: they do not fit a number. */
  readonly birthNs: string;
}

/** One string for an incarnation. Equal strings mean the same life of a socket. */
export function incarnationKey(incarnation: Incarnation): string {
  return `${incarnation.dev}:${incarnation.ino}:${incarnation.birthNs}`;
}

/**
 * Stands for each user that the user namespace of the broker does not know: many users, which nobody tells apart. (uid_t)-1, the uid of
 * nobody.
 */
export const UNKNOWN_USER = 0xffff_ffff;

/** The process behind a connection, as far as it can be seen. */
export interface Caller {
  readonly uid: number;
  readonly gid: number | undefined;
  readonly pid: number | undefined;
  /** Start time of the process in clock ticks since boot: a pid alone is used again. */
  readonly startTime: string | undefined;
  /** `peercred`: the kernel said so. `socket-file`: the owner of a socket file stands in (no koffi). */
  readonly source: 'peercred' | 'socket-file';
}

/** The process that listens on a socket, or why it cannot be named. */
export type Listener =
  | { readonly uid: number; readonly gid: number | undefined; readonly pid: number | undefined }
  | { readonly error: string };

/** The code of a call about a name in a directory that has not returned in time: nothing is said of the name. */
export const UNANSWERED = 'ETIMEDOUT';

/**
 * Whether the code of a failed question says something of us and nothing of the socket: descriptors or memory have run
 * out here.
 */
export function isOwnShortage(code: string): boolean {
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOBUFS' || code === 'ENOMEM';
}

/**
 * Whether a process may listen: a listener that accepts nobody for now counts, and so does one that cannot be looked at for want
 * of descriptors.
 */
export function mayListen(found: Listener): boolean {
  return 'uid' in found || found.error === 'EAGAIN' || isOwnShortage(found.error);
}

/** Whether a user is root or the broker's own: other users have shares of the room. */
export function isTrusted(uid: number, ownUid: number): boolean {
  return uid === 0 || uid === ownUid;
}

/**
 * The uid that stands for all uids of one user where room and time are shared (platform/peer/users): its own for most, the
 * owner's for those of a range in /etc/subuid. Permissions go by the uid itself.
 */
export type UserOf = (uid: number) => number;

/** Tells ordinary users from root and the broker's own user, and from each other. */
export interface UserFacts {
  /** The broker's own user. */
  readonly ownUid: number;
  /** Maps a uid to the uid that stands for its user. */
  readonly userOf: UserOf;
}

/**
 * The ordinary user that a uid belongs to, in whose share of room and time its work counts.
 *
 * @returns undefined for root and for the broker's own user, which have no share but all of it
 */
export function strangerUser(uid: number, { ownUid, userOf }: UserFacts): number | undefined {
  return isTrusted(uid, ownUid) ? undefined : userOf(uid);
}

/**
 * The process that listens, as a caller.
 *
 * @param caller the process that called for it: it has been looked at, so that the listener's start time is known where it is the same
 */
export function callerBehind({ uid, gid, pid }: Exclude<Listener, { error: string }>, caller?: Caller): Caller {
  if (pid === undefined) return { uid, gid, pid, startTime: undefined, source: 'socket-file' };
  const isCaller = caller?.pid === pid && caller.uid === uid;
  return { uid, gid, pid, startTime: isCaller ? caller.startTime : undefined, source: 'peercred' };
}

/** The key of a caller's process: its pid and when it started; where the pid is unknown, its uid. */
export function processKey({ uid, pid, startTime }: Caller): string {
  return pid === undefined ? `uid ${String(uid)}` : `${String(pid)} ${startTime ?? ''}`;
}

/** Whether two callers are the same process: by pid and start time; without a start time by pid and uid, without a pid by uid. */
export function sameProcess(a: Caller, b: Caller): boolean {
  const isSameUser = a.uid === b.uid;
  if (a.pid === undefined || b.pid === undefined) return isSameUser;
  if (a.pid !== b.pid) return false;
  // A pid is used again, by other users, too; a process that changed its uid has kept its start time.
  if (a.startTime === undefined || b.startTime === undefined) return isSameUser;
  return a.startTime === b.startTime;
}
