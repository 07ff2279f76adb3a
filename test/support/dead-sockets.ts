import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Leaves sockets that were bound and are not listened on, as a killed process does.
 *
 * @param uid whom they belong to afterwards
 */
export function deadSockets(directory: string, count: number, uid: number, name = 'dead'): void {
  const file = fileURLToPath(import.meta.url);
  spawnSync(process.execPath, [file, directory, String(count), name], { stdio: 'inherit' });
  for (const one of readdirSync(directory)) {
    const socket = path.join(directory, one);
    if (one.startsWith(name) && existsSync(socket) && lstatSync(socket).uid !== uid) chownSync(socket, uid, uid);
  }
}

const [, self, directory, count, name] = process.argv;
if (self === fileURLToPath(import.meta.url) && directory !== undefined) {
  const { createServer } = await import('node:net');
  const servers = Array.from({ length: Number(count) }, (_, at) =>
    createServer().listen(path.join(directory, `${String(name)}${at === 0 ? '' : String(at)}.sock`)),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));
  // Killed, it removes nothing.
  process.kill(process.pid, 'SIGKILL');
}
