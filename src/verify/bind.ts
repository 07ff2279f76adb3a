// --bind: the plugin in a mount namespace of its own, in which our directory is /var/lib/kubelet (unshare(1), mount(8)).
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Command } from './command.js';
import { KUBELET_DIRECTORY, type Directories } from './directories.js';
import { OutputTail } from '../platform/process/output-tail.js';
import { ownUid } from '../platform/process/own-uid.js';

/**
 * Mounts and becomes the command. A mount point that is missing is made on a tmpfs over its nearest parent, whose entries
 * are bound back, so that nothing is written to the machine's own directories.
 *
 * $1: our directory. $2: an empty directory beside it. $3: the mount point. The rest: the command.
 */
const SCRIPT = `set -e
ours=$1 under=$2 point=$3
shift 3
if [ ! -d "$point" ]; then
  parent=\${point%/*}
  while [ -n "$parent" ] && [ ! -d "$parent" ]; do parent=\${parent%/*}; done
  if [ -z "$parent" ]; then echo "no parent directory of $point exists" >&2; exit 125; fi
  mount --rbind "$parent" "$under"
  mount -t tmpfs -o mode=755 verify "$parent"
  for entry in "$under"/* "$under"/.[!.]* "$under"/..?*; do
    name=$parent/\${entry##*/}
    if [ -L "$entry" ]; then cp -P "$entry" "$name"
    elif [ -d "$entry" ]; then mkdir "$name" && mount --rbind "$entry" "$name"
    elif [ -e "$entry" ]; then : > "$name" && mount --bind "$entry" "$name"
    fi
  done
  mkdir -p "$point"
fi
mount --bind "$ours" "$point"
exec "$@"`;

/** --bind cannot work here. The message names the cause and the alternative. */
export class BindProblem extends Error {
  override readonly name = 'BindProblem';
}

/** Wraps a command so that it sees `directories.kubelet` at /var/lib/kubelet. */
export function boundCommand({ file, args }: Command, { own, kubelet }: Pick<Directories, 'own' | 'kubelet'>): Command {
  const under = path.join(own, 'under');
  mkdirSync(under, { recursive: true });
  // An ordinary user becomes root of a user namespace of its own: nobody else may mount.
  const namespaces = ownUid() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const script = ['/bin/sh', '-c', SCRIPT, 'verify', kubelet, under, KUBELET_DIRECTORY];
  return { file: 'unshare', args: [...namespaces, '--', ...script, file, ...args] };
}

/**
 * Tries it once.
 *
 * @throws BindProblem when it does not work
 */
export function tryBind(directories: Directories): void {
  const { file, args } = boundCommand({ file: '/bin/true', args: [] }, directories);
  const { error, status, stderr } = spawnSync(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (error === undefined && status === 0) return;
  const said = new OutputTail();
  if (error === undefined) said.take(stderr);
  const why = error?.message ?? said.lastLine();
  throw new BindProblem(
    `--bind does not work here: ${why}; it needs unshare and mount of util-linux, and root or a system that lets users make user namespaces. Without it, name the directories in the command with {devicePlugins}`,
  );
}
