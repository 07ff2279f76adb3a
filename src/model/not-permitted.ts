// The sentence for a socket that file permissions keep the broker from. Pure.

/** A socket that the broker may not connect to. */
interface BarredSocket {
  /** Where it is, as it is shown. */
  readonly path: string;
  /** Owner of its file, where that may be looked at. */
  readonly uid?: number | undefined;
}

/**
 * Says which process has to run as which user so that the broker may connect.
 *
 * @param error the code of the system: EACCES or EPERM
 * @param ownUid the broker's own user
 */
export function mayNotConnect({ path, uid }: BarredSocket, error: string, ownUid: number): string {
  const own = `uid ${String(ownUid)}`;
  return `the broker runs as ${own} and may not connect to ${path} (${error}); run the broker as root${orAs(uid, ownUid)} or let the plugin open it to ${own}`;
}

/** The user beside root as whom the broker may run. */
function orAs(uid: number | undefined, ownUid: number): string {
  if (uid === undefined) return ' or as the user of the plugin';
  if (uid === 0) return ', which the socket belongs to,';
  return uid === ownUid ? '' : ` or as uid ${String(uid)}, which the socket belongs to,`;
}
