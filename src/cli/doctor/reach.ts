// How will plugins reach us? Device plugins have the kubelet's directory built in.
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { mountOfLine, type Mount } from '../../platform/fs/users-mounts.js';
import { finding, type Finding, type Scope } from './finding.js';
import { namesIn, statusAt, textOf } from './looks.js';
import { probe } from './probe.js';

/** Whether plugins that look in the built-in directory find this broker. */
export async function checkReach(scope: Scope): Promise<readonly Finding[]> {
  const { kubeletDevicePlugins: builtIn } = scope;
  const { devicePlugins } = scope.settings.paths;
  const kubelet = kubeletProcess(scope.proc);
  const isSame = sameDirectory(builtIn, devicePlugins);
  const name = 'how plugins reach us';
  if (kubelet !== undefined && isSame) {
    const both = `a kubelet runs here (pid ${kubelet}), and it uses ${builtIn} too`;
    return [finding(name, 'fail', `${both}; set paths.devicePlugins to another directory, or stop the kubelet`)];
  }
  if (isSame) return [finding(name, 'ok', `plugins find us in ${builtIn}, the directory they have built in`)];
  const mount = `mount ${devicePlugins} at ${builtIn} in their containers`;
  if (kubelet !== undefined) {
    return [finding(name, 'ok', `a kubelet runs here (pid ${kubelet}); for plugins that shall come to us, ${mount}`)];
  }
  const foreign = (await probe(path.join(builtIn, 'kubelet.sock'))) === 'listening';
  const state = foreign
    ? `somebody else listens on ${path.join(builtIn, 'kubelet.sock')}, so plugins with this path built in go there`
    : `plugins with ${builtIn} built in do not find us`;
  return [finding(name, 'warn', `${state}; ${mount}, or set paths.devicePlugins to ${builtIn} where no kubelet runs`)];
}

/** Mounts of single sockets: they hold on to the file that was there, and after a restart lead nowhere. */
export function checkMounts(scope: Scope): readonly Finding[] {
  const mounted = mountsInside(scope)
    .filter(({ point, server }) => server === undefined && !isDirectory(point))
    .map(({ point }) => point);
  if (mounted.length === 0) return [finding('mounts', 'ok', 'no socket is mounted by itself')];
  const remedy = 'mount its directory instead, because a mounted socket stays the old one after a restart';
  return mounted.map((point) => finding('mounts', 'fail', `${point} is mounted by itself; ${remedy}`));
}

/**
 * Users may mount file systems that root enters, and that answer when they like. The daemon looks into none below its directories;
 * over such a directory it has no choice. Further checks might hang in any.
 */
export function checkFuse(scope: Scope): readonly Finding[] {
  const mounted = mountsInside(scope).filter(
    ({ server }) => server !== undefined && server !== 0 && server !== scope.uid,
  );
  if (mounted.length > 0) {
    const remedy =
      'where it does not answer the daemon hangs in it, and further checks would; unmount it with `umount -l`';
    return mounted.map(({ point, server }) =>
      finding('FUSE', 'fail', `${point} is a file system of uid ${String(server)}: ${remedy}`),
    );
  }
  const text = textOf(scope.fuseConf) ?? '';
  if (!/^\s*user_allow_other\b/m.test(text)) return [finding('FUSE', 'ok', 'users cannot mount what root enters')];
  const message = `${scope.fuseConf} has user_allow_other, so that a user who may write a directory of sockets can mount a file system over it that never answers, and the daemon hangs in it; remove that line, or let only root write them`;
  return [finding('FUSE', 'warn', message)];
}

/**
 * The pid of a kubelet, by its command name, which any user can give a process: only those that root or our own user started count. A
 * link of that name to a program that becomes root, such as su, keeps the real uid of its caller.
 */
function kubeletProcess(proc: string): number | undefined {
  const pid = namesIn(proc).find((name) => {
    if (!/^[0-9]+$/.test(name)) return false;
    const status = textOf(path.join(proc, name, 'status')) ?? '';
    const [, uid] = /^Name:\tkubelet\n[^]*^Uid:\t([0-9]+)\t/m.exec(status) ?? [];
    return uid !== undefined && (Number(uid) === 0 || Number(uid) === process.getuid?.());
  });
  return pid === undefined ? undefined : Number(pid);
}

/** The mounts below the directories of the daemon. */
function mountsInside({ proc, settings }: Scope): readonly Mount[] {
  const { root, devicePlugins, pluginsRegistry, plugins } = settings.paths;
  const inside = [root, devicePlugins, pluginsRegistry, plugins];
  const text = textOf(path.join(proc, 'self/mountinfo')) ?? '';
  const all = text.split('\n').flatMap((line) => mountOfLine(line) ?? []);
  return all.filter(({ point }) => inside.some((directory) => `${point}/`.startsWith(`${directory}/`)));
}

function sameDirectory(one: string, other: string): boolean {
  if (path.resolve(one) === path.resolve(other)) return true;
  const [a, b] = [one, other].map((directory) => ifPossible(() => statusAt(directory)));
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino;
}

function isDirectory(file: string): boolean {
  return ifPossible(() => statusAt(file))?.kind === 'directory';
}
