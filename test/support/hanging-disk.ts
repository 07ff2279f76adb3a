// Loaded into a broker with --import: file operations below HANG_BELOW never return once HANG_WHEN exists. They really
// hang, each in a thread of libuv's pool, because they open a FIFO that nobody writes.
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const below = process.env['HANG_BELOW'] ?? '';
const when = process.env['HANG_WHEN'] ?? '';
const fifo = process.env['HANG_IN'] ?? '';

type Call = (...args: unknown[]) => unknown;
const open = fs.open as unknown as Call;
const hangs = (path: unknown): boolean =>
  below !== '' && typeof path === 'string' && path.startsWith(below) && fs.existsSync(when);

for (const name of ['open', 'mkdir', 'rename', 'unlink', 'lstat', 'readdir', 'link'] as const) {
  const real = fs[name] as unknown as Call;
  const instead = (...args: unknown[]): unknown =>
    hangs(args[0]) ? open(fifo, 'r', () => undefined) : real.apply(fs, args);
  Object.assign(fs, { [name]: instead });
  const later = promises[name] as unknown as Call;
  const insteadLater = (...args: unknown[]): unknown =>
    hangs(args[0]) ? new Promise(() => void open(fifo, 'r', () => undefined)) : later.apply(promises, args);
  Object.assign(promises, { [name]: insteadLater });
}
syncBuiltinESMExports();
