// Looks at sockets without speaking to them.
import { connect } from 'node:net';
import path from 'node:path';
import { UNANSWERED } from '../../model/ids.js';
import type { PinProblem } from '../../model/plugin.js';
import { opendirSync, type Entry } from '../../platform/fs/name-calls.js';
import { SocketPaths } from '../../platform/fs/socket-paths.js';
import { isOursOrRoots } from '../../platform/process/own-uid.js';

/** How long a local listener may take to accept. */
const CONNECT_MS = 1_000;
/** Files looked at in a directory; the broker takes in 1,024 plugins by default. */
const MOST_FILES = 5_000;
/** Directories below each other that are looked into, as the broker does. */
const MAX_DEPTH = 16;
/** Connections tried at once. */
const AT_ONCE = 64;

/** The result of a bare connect: somebody listens; nobody does; it may not be tried; it cannot be; its directory does not answer. */
export type Liveness = 'listening' | 'dead' | 'denied' | 'silent' | 'missing' | 'too-long' | 'unanswered';

/**
 * Connects and hangs up. A link that an ordinary user made leads nowhere, because this may run as root.
 *
 * @param directory above the socket; the way to it belongs to root alone
 */
export async function probe(socket: string, directory = path.dirname(socket)): Promise<Liveness> {
  const pinned = waysBelow(directory).pin(socket);
  if ('problem' in pinned) return unreached(pinned);
  try {
    return await dialled(pinned.dialPath);
  } finally {
    pinned.release();
  }
}

function waysBelow(directory: string): SocketPaths {
  return new SocketPaths([directory], isOursOrRoots);
}

function unreached({ problem, detail }: PinProblem): Liveness {
  if (problem === 'too-long') return 'too-long';
  if (detail === UNANSWERED) return 'unanswered';
  return detail === 'EACCES' || detail === 'EPERM' ? 'denied' : 'missing';
}

function dialled(dialPath: string): Promise<Liveness> {
  return new Promise((resolve) => {
    const connection = connect(dialPath);
    const end = (liveness: Liveness): void => {
      connection.destroy();
      resolve(liveness);
    };
    connection.setTimeout(CONNECT_MS, () => end('silent'));
    connection.once('connect', () => end('listening'));
    connection.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') end('dead');
      else if (code === 'EACCES' || code === 'EPERM') end('denied');
      else end(code === 'ENOENT' ? 'missing' : 'silent');
    });
  });
}

/** Sockets of a list with the result of a bare connect to each. @param directory above them */
export async function probeAll(
  sockets: readonly string[],
  directory: string,
): Promise<readonly { socket: string; liveness: Liveness }[]> {
  const found: { socket: string; liveness: Liveness }[] = [];
  for (let start = 0; start < sockets.length; start += AT_ONCE) {
    const some = sockets.slice(start, start + AT_ONCE);
    found.push(
      ...(await Promise.all(some.map(async (socket) => ({ socket, liveness: await probe(socket, directory) })))),
    );
  }
  return found;
}

/**
 * The entries of a directory. Dot names are left out, as both doors do; none when it cannot be read.
 *
 * @param silent takes the directories that did not answer in time
 */
export function entriesOf(
  directory: string,
  recursive: boolean,
  silent: string[] = [],
): readonly { file: string; entry: Entry }[] {
  const ways = waysBelow(directory);
  const found: { file: string; entry: Entry }[] = [];
  const tryWalk = (folder: string, depth: number): void => {
    try {
      walk(folder, depth);
    } catch (failure) {
      // Why else one cannot be read is said by the check of directories.
      if ((failure as NodeJS.ErrnoException).code === UNANSWERED) silent.push(folder);
    }
  };
  const walk = (folder: string, depth: number): void => {
    const opened = ways.inDirectory(folder, (at) => opendirSync(at));
    try {
      for (let entry = opened.readSync(); entry !== null && found.length < MOST_FILES; entry = opened.readSync()) {
        if (entry.name.startsWith('.')) continue;
        const file = path.join(folder, entry.name);
        found.push({ file, entry });
        if (recursive && depth < MAX_DEPTH && entry.isDirectory()) tryWalk(file, depth + 1);
      }
    } finally {
      opened.closeSync();
    }
  };
  tryWalk(directory, 0);
  return found;
}
