import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const argv = (directory: string, count: number, uid: number, name: string): readonly string[] => [
  fileURLToPath(import.meta.url),
  directory,
  String(count),
  String(uid),
  name,
];

/**
 * Leaves sockets that were bound and are not listened on, as a killed process does.
 *
 * @param directory that user may write it
 * @param uid who makes them; another one than our own only root may name
 */
export function deadSockets(directory: string, count: number, uid: number, name = 'dead'): void {
  spawnSync(process.execPath, argv(directory, count, uid, name), { stdio: 'inherit' });
}

/** The same while others work, by a nice process. Resolves when they are dead. */
export async function makeDeadSockets(directory: string, count: number, uid: number): Promise<void> {
  const maker = spawn(process.execPath, argv(directory, count, uid, 'dead'), { stdio: 'inherit' });
  const ended = once(maker, 'exit');
  if (maker.pid !== undefined) os.setPriority(maker.pid, os.constants.priority.PRIORITY_LOW);
  await ended;
}

const [, self, directory, count, uid, name] = process.argv;
if (self === fileURLToPath(import.meta.url) && directory !== undefined) {
  const { createServer } = await import('node:net');
  // The directories above may be closed for that user.
  process.chdir(directory);
  if (Number(uid) !== process.getuid?.()) process.setuid?.(Number(uid));
  const servers = Array.from({ length: Number(count) }, (_, at) =>
    createServer().listen(path.join('.', `${String(name)}${at === 0 ? '' : String(at)}.sock`)),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));
  // Killed, it removes nothing.
  process.kill(process.pid, 'SIGKILL');
}
