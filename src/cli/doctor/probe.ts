// Looks at sockets without speaking to them.
import { readdirSync, type Dirent } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { LONGEST_SOCKET_PATH } from '../../model/root.js';

/** How long a local listener may take to accept. */
const CONNECT_MS = 1_000;
/** Files looked at in a directory; the broker takes in 1,024 plugins by default. */
const MOST_FILES = 5_000;
/** Connections tried at once. */
const AT_ONCE = 64;

/** What a bare connect says: somebody listens; nobody does; it may not be tried; it cannot be. */
export type Liveness = 'listening' | 'dead' | 'denied' | 'silent' | 'missing' | 'too-long';

/** Connects and hangs up. */
export function probe(socket: string): Promise<Liveness> {
  if (Buffer.byteLength(socket) > LONGEST_SOCKET_PATH) return Promise.resolve('too-long');
  return new Promise((resolve) => {
    const connection = connect(socket);
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

/** Sockets of a list with what a bare connect says of each. */
export async function probeAll(sockets: readonly string[]): Promise<readonly { socket: string; liveness: Liveness }[]> {
  const found: { socket: string; liveness: Liveness }[] = [];
  for (let start = 0; start < sockets.length; start += AT_ONCE) {
    const some = sockets.slice(start, start + AT_ONCE);
    found.push(...(await Promise.all(some.map(async (socket) => ({ socket, liveness: await probe(socket) })))));
  }
  return found;
}

/** What lies in a directory. Dot names are left out, as both doors do; nothing when it cannot be read. */
export function entriesOf(directory: string, recursive: boolean): readonly { file: string; entry: Dirent }[] {
  // Why one cannot be read is said by the check of directories.
  const entries = ifPossible(() => readdirSync(directory, { withFileTypes: true, recursive })) ?? [];
  const isHidden = (file: string): boolean => /(?:^|\/)\./.test(path.relative(directory, file));
  return entries
    .map((entry) => ({ file: path.join(entry.parentPath, entry.name), entry }))
    .filter(({ file }) => !isHidden(file))
    .slice(0, MOST_FILES);
}
