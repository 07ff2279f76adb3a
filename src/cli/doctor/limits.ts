// Does the kernel give enough watches and descriptors?
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { finding, type Finding, type Scope } from './finding.js';
import { namesIn, statusAt, targetOf, textOf } from './looks.js';

/** Watches the broker takes: one for each directory of the doors, and for those plugins make below the registry. */
const WATCHES_NEEDED = 64;
/** Descriptors of a plugin: its pinned socket, its connection, and a second of each while it is replaced. */
const DESCRIPTORS_PER_PLUGIN = 4;
/** Descriptors of the daemon itself. */
const DESCRIPTORS_OWN = 128;

/** inotify: instances and watches are counted per user, over all processes. */
export function checkInotify({ proc, uid }: Scope): readonly Finding[] {
  const settings = path.join(proc, 'sys/fs/inotify');
  const maxWatches = readNumber(path.join(settings, 'max_user_watches'));
  const maxInstances = readNumber(path.join(settings, 'max_user_instances'));
  if (maxWatches === undefined || maxInstances === undefined) {
    return [finding('inotify', 'warn', `the limits in ${settings} cannot be read; without watches the broker polls`)];
  }
  const used = inotifyUse(proc, uid);
  const name = (what: string): string => `inotify ${what}`;
  const one = (what: string, key: string, use: number, most: number, needed: number): Finding => {
    const state = `user ${uid} has ${use} of ${most} inotify ${what} in use`;
    if (most - use >= needed) return finding(name(what), 'ok', state);
    const remedy = `raise it with \`sysctl fs.inotify.${key}=${Math.max(most * 2, 8_192)}\``;
    return finding(name(what), 'warn', `${state}; ${remedy}, or the broker polls its directories instead`);
  };
  return [
    one('watches', 'max_user_watches', used.watches, maxWatches, WATCHES_NEEDED),
    one('instances', 'max_user_instances', used.instances, maxInstances, 2),
  ];
}

/** Open files: of the running daemon, else of a process started like this one. */
export function checkDescriptors({ proc, daemon, settings }: Scope): readonly Finding[] {
  const { admission, flood } = settings;
  const needed = admission.maxPlugins * DESCRIPTORS_PER_PLUGIN + flood.connections.total + DESCRIPTORS_OWN;
  const limits = textOf(path.join(proc, daemon === undefined ? 'self' : String(daemon.broker.pid), 'limits'));
  const [, soft] = /^Max open files\s+(\S+)/m.exec(limits ?? '') ?? [];
  if (soft === undefined) return [finding('open files', 'warn', 'the limit of open files cannot be read')];
  const limit = soft === 'unlimited' ? Infinity : Number(soft);
  const state = `${soft} files may be open, and up to ${needed} can be needed`;
  if (limit >= needed) return [finding('open files', 'ok', state)];
  const remedy = 'raise LimitNOFILE, or lower admission.maxPlugins and flood.connections.total';
  return [finding('open files', 'warn', `${state}; ${remedy}`)];
}

/**
 * The use by all processes of a user, as far as this user may see. They come and go while we look, and some may not be seen: files that
 * cannot be read do not count.
 */
function inotifyUse(proc: string, uid: number): { instances: number; watches: number } {
  const use = { instances: 0, watches: 0 };
  for (const pid of namesIn(proc).filter((name) => /^[0-9]+$/.test(name))) {
    const process = path.join(proc, pid);
    if (ifPossible(() => statusAt(process))?.uid !== uid) continue;
    for (const fd of namesIn(path.join(process, 'fd'))) {
      if (targetOf(path.join(process, 'fd', fd)) !== 'anon_inode:inotify') continue;
      use.instances += 1;
      use.watches += textOf(path.join(process, 'fdinfo', fd))?.match(/^inotify /gm)?.length ?? 0;
    }
  }
  return use;
}

function readNumber(file: string): number | undefined {
  const value = Number(textOf(file) ?? 'none');
  return Number.isNaN(value) ? undefined : value;
}
