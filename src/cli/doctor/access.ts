// Checks who may connect to kubelet.sock: every user that may write the socket file and enter the directories above it (unix(7)).
import path from 'node:path';
import { groupName } from '../../platform/process/groups.js';
import { finding, type Finding, type Scope } from './finding.js';
import { statusOfLink, UNANSWERED_WHY } from './looks.js';
import { entriesOf } from './probe.js';

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
/** Uids listed in one sentence. */
const MOST_NAMED = 5;

/**
 * Lists the users that may connect, and plugins of this machine that may not, as far as the mode tells: the group bits of a file
 * with an ACL are its mask, the most that its entries give (acl(5)), and neither the entries nor that there are any can be read here.
 */
export function checkAccess({ settings }: Scope): readonly Finding[] {
  const name = 'who may connect';
  const { devicePlugins } = settings.paths;
  const socket = path.join(devicePlugins, 'kubelet.sock');
  const status = statusOfLink(socket);
  const configured = settings.socket.mode;
  if (status === 'unanswered') return [finding(name, 'warn', `${socket} cannot be looked at: ${UNANSWERED_WHY}`)];
  if (status?.kind !== 'socket') {
    return [finding(name, 'ok', `kubelet.sock will have mode ${shown(configured)} (socket.mode)`)];
  }
  const { mode, uid, gid } = status;
  const has = `kubelet.sock (mode ${shown(mode)})`;
  if ((mode & OTHERS_WRITE) !== 0) {
    const who = `every user who may enter ${devicePlugins} may connect to ${has}`;
    return [finding(name, 'ok', `${who}, unless its group or an ACL of it gives less`)];
  }
  const remedy =
    "set socket.mode: '0775' and a socket.group that these plugins are in, or a default ACL of the directory";
  const owners = uid === 0 ? 'root' : `root and uid ${uid}`;
  if ((mode & GROUP_WRITE) !== 0) {
    const may = `${owners} may connect to ${has}, and`;
    const group = `its group (${groupName(gid) ?? 'without a name'}, gid ${gid})`;
    const list = `getfacl ${socket} lists them`;
    const rest =
      (configured & GROUP_WRITE) === 0
        ? `those whose entry in its ACL lets them write: ${list}. That right is not in socket.mode (${shown(configured)}): it is the mask of an ACL, which says nothing of ${group}, unless somebody changed the mode`
        : `${group}, unless it has an ACL: then the group bits are the most that its entries give, and those whose entry lets them write may: ${list}`;
    return [finding(name, 'ok', `${may} ${rest}`)];
  }
  const who = `only ${owners}`;
  const strangers = ownersOf(devicePlugins).filter((owner) => owner !== 0 && owner !== uid);
  if (strangers.length === 0) {
    const others = `plugins that run as other users need ${remedy.replace('set ', '')}`;
    return [finding(name, 'ok', `${who} may connect to ${has}; ${others}`)];
  }
  const uids = `${strangers.slice(0, MOST_NAMED).join(', ')}${strangers.length > MOST_NAMED ? ' and more' : ''}`;
  const why = `${who} may connect to ${has}, and ${devicePlugins} has sockets of uid ${uids}`;
  return [finding(name, 'warn', `${why}; ${remedy}`)];
}

/** The permissions of a mode as chmod takes them. */
function shown(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function ownersOf(directory: string): readonly number[] {
  const sockets = entriesOf(directory, false).filter(({ entry }) => entry.isSocket());
  const owners = sockets.flatMap(({ file }) => {
    const status = statusOfLink(file);
    return typeof status === 'object' ? status.uid : [];
  });
  return [...new Set(owners)].sort((a, b) => a - b);
}
