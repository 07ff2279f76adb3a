// Are the directories there, and may the daemon use them?
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { isDone } from '../../kernel/if-possible.js';
import { LONGEST_SOCKET_PATH } from '../../model/root.js';
import { movableNames } from '../../platform/fs/name-movers.js';
import { ownUid } from '../../platform/process/own-uid.js';
import { finding, type Finding, type Scope } from './finding.js';
import { statusAt, type Status } from './looks.js';

const DIRECTORIES = ['devicePlugins', 'pluginsRegistry', 'plugins', 'state'] as const;
/** Socket names of plugins in the field are up to about this long. */
const USUAL_NAME_BYTES = 40;

/** Looks at each directory of the configuration. */
export function checkDirectories(scope: Scope): readonly Finding[] {
  return DIRECTORIES.map((key) => checkDirectory(key, scope.settings.paths[key], scope));
}

/** Whether CDI files of leases can be written. Without them leases work, and container engines do not know them by name. */
export function checkCdi({ settings, uid }: Scope): readonly Finding[] {
  const name = 'directory of CDI files';
  const directory = settings.cdi.dir;
  if (directory === undefined) return [finding(name, 'ok', 'CDI is off (cdi.dir)')];
  const warn = (message: string): readonly Finding[] => [finding(name, 'warn', message)];
  const found = statusOf(directory);
  if (typeof found === 'string') {
    return warn(`${directory} cannot be looked at (${found}), so leases get no CDI names; check what is above it`);
  }
  if (found === undefined) {
    const { verdict, message } = checkMissing(name, directory);
    return [finding(name, verdict === 'fail' ? 'warn' : verdict, message)];
  }
  if (found.kind !== 'directory') return warn(`${directory} is not a directory, so leases get no CDI names; remove it`);
  const mode = found.mode & 0o777;
  if (!mayUse(directory, found, uid)) {
    return warn(
      `uid ${uid} may not write ${directory} (owner ${found.uid}, mode ${mode.toString(8)}), so leases get no CDI names; chown it, or name another one in cdi.dir that your container engine reads`,
    );
  }
  if ((mode & 0o022) !== 0) {
    return warn(
      `others may write ${directory} (mode ${mode.toString(8)}), and a user that writes there decides what containers are given; chmod go-w it`,
    );
  }
  return [finding(name, 'ok', `${directory} belongs to uid ${found.uid}, mode ${mode.toString(8)}`)];
}

/** How long socket names may be in the directories of the doors. */
export function checkPathLengths({ settings }: Scope): readonly Finding[] {
  return (['devicePlugins', 'pluginsRegistry'] as const).map((key) => {
    const directory = settings.paths[key];
    const room = LONGEST_SOCKET_PATH - Buffer.byteLength(directory) - 1;
    const name = `path length of ${key}`;
    if (room >= USUAL_NAME_BYTES) return finding(name, 'ok', `socket names of up to ${room} bytes fit in ${directory}`);
    return finding(
      name,
      room > 0 ? 'warn' : 'fail',
      `only ${Math.max(room, 0)} bytes are left for socket names in ${directory}, because a unix socket address holds ${LONGEST_SOCKET_PATH}; use a shorter root`,
    );
  });
}

function checkDirectory(key: (typeof DIRECTORIES)[number], directory: string, scope: Scope): Finding {
  const name = `directory ${key}`;
  const bad = (message: string): Finding => finding(name, 'fail', message);
  const found = statusOf(directory);
  if (typeof found === 'string') {
    return bad(`${directory} cannot be looked at (${found}); check the directories above it`);
  }
  if (found === undefined) return checkMissing(name, directory);
  if (found.kind !== 'directory')
    return bad(`${directory} is not a directory; remove it, and mount directories, never sockets`);
  const mode = found.mode & 0o777;
  if (!mayUse(directory, found, scope.uid)) {
    return bad(
      `uid ${scope.uid} may not read, write and enter ${directory} (owner ${found.uid}, mode ${mode.toString(8)}); chown or chmod it`,
    );
  }
  if (key === 'state' && (mode & 0o077) !== 0) {
    const loose = `${directory} is open to others (mode ${mode.toString(8)}); chmod 700 it, because it holds the checkpoint`;
    return finding(name, 'warn', loose);
  }
  if ((mode & 0o002) !== 0) {
    const open = `everybody may put sockets into ${directory} (mode ${mode.toString(8)}); chmod o-w it, and give plugins a group`;
    return finding(name, 'warn', open);
  }
  const movable = key === 'devicePlugins' || key === 'pluginsRegistry' ? movableNames(directory, scope.uid) : undefined;
  if (movable !== undefined) return finding(name, 'warn', movable);
  return finding(name, 'ok', `${directory} belongs to uid ${found.uid}, mode ${mode.toString(8)}`);
}

function checkMissing(name: string, directory: string): Finding {
  let parent = path.dirname(directory);
  while (statusOf(parent) === undefined && parent !== '/') parent = path.dirname(parent);
  if (isDone(() => accessSync(parent, constants.W_OK | constants.X_OK))) {
    return finding(name, 'ok', `${directory} is not there yet; serve makes it`);
  }
  const closed = `${directory} is not there, and ${parent} may not be written; make it, or use another root`;
  return finding(name, 'fail', closed);
}

/** The status of a path, undefined for nothing; the system's code where it cannot be looked at. */
export function statusOf(directory: string): Status | string | undefined {
  try {
    return statusAt(directory);
  } catch (failure) {
    return String((failure as NodeJS.ErrnoException).code);
  }
}

/** By owner and mode: the daemon may run as another user than this command. Root may everything. */
export function mayUse(directory: string, { uid: owner, mode }: Status, uid: number): boolean {
  if (uid === 0) return true;
  if (uid === owner) return (mode & 0o700) === 0o700;
  if (uid !== ownUid()) return (mode & 0o007) === 0o007 || (mode & 0o070) === 0o070;
  return isDone(() => accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK));
}
