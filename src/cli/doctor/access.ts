// Checks who may connect to kubelet.sock: every user that may write the socket file and enter the directories above it (unix(7)).
import { lstatSync, type Stats } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { groupName } from '../../platform/process/groups.js';
import { finding, type Finding, type Scope } from './finding.js';
import { entriesOf } from './probe.js';

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
/** Uids listed in one sentence. */
const MOST_NAMED = 5;

/** Lists the users that may connect, and plugins of this machine that may not. */
export function checkAccess({ settings }: Scope): readonly Finding[] {
  const name = 'who may connect';
  const { devicePlugins } = settings.paths;
  const socket = path.join(devicePlugins, 'kubelet.sock');
  const status = statusOf(socket);
  if (status?.isSocket() !== true) {
    const mode = settings.socket.mode.toString(8).padStart(4, '0');
    return [finding(name, 'ok', `kubelet.sock will have mode ${mode} (socket.mode)`)];
  }
  const { mode, uid, gid } = status;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  if ((mode & OTHERS_WRITE) !== 0) {
    return [
      finding(name, 'ok', `every user who may enter ${devicePlugins} may connect to kubelet.sock (mode ${shown})`),
    ];
  }
  const remedy =
    "set socket.mode: '0775' and a socket.group that these plugins are in, or a default ACL of the directory";
  if ((mode & GROUP_WRITE) !== 0) {
    const group = `${groupName(gid) ?? 'without a name'}, gid ${gid}`;
    const who = `root, uid ${uid}, its group (${group}) and those that its ACL names`;
    return [finding(name, 'ok', `${who} may connect to kubelet.sock (mode ${shown}), others may not`)];
  }
  const who = uid === 0 ? 'only root' : `only root and uid ${uid}`;
  const strangers = ownersOf(devicePlugins).filter((owner) => owner !== 0 && owner !== uid);
  if (strangers.length === 0) {
    const others = `plugins that run as other users need ${remedy.replace('set ', '')}`;
    return [finding(name, 'ok', `${who} may connect to kubelet.sock (mode ${shown}); ${others}`)];
  }
  const uids = `${strangers.slice(0, MOST_NAMED).join(', ')}${strangers.length > MOST_NAMED ? ' and more' : ''}`;
  const why = `${who} may connect to kubelet.sock (mode ${shown}), and ${devicePlugins} has sockets of uid ${uids}`;
  return [finding(name, 'warn', `${why}; ${remedy}`)];
}

function ownersOf(directory: string): readonly number[] {
  const sockets = entriesOf(directory, false).filter(({ entry }) => entry.isSocket());
  return [...new Set(sockets.flatMap(({ file }) => statusOf(file)?.uid ?? []))].sort((a, b) => a - b);
}

/** Undefined also where its directory may not be entered: said by the check of directories. */
function statusOf(file: string): Stats | undefined {
  return ifPossible(() => lstatSync(file, { throwIfNoEntry: false }));
}
