// Loaded into a broker with --import: file operations below HANG_BELOW do not return once HANG_WHEN exists, all of them or
// those that HANG_OPS names, separated by commas. They really hang, each in a thread of libuv's pool, because they open a FIFO
// that nobody writes; when somebody opens it to write, they are done.
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const below = process.env['HANG_BELOW'] ?? '';
const when = process.env['HANG_WHEN'] ?? '';
const fifo = process.env['HANG_IN'] ?? '';
const chosen = (process.env['HANG_OPS'] ?? '').split(',').filter((name) => name !== '');

type Call = (...args: unknown[]) => unknown;
const open = fs.open as unknown as Call;
const close = fs.close as unknown as Call;
/** Hangs in a thread, and calls back when the disk answers again. */
const hang = (then: () => unknown): unknown =>
  open(fifo, 'r', (_failure: unknown, fd: unknown) => {
    close(fd, () => undefined);
    then();
  });
const isBelow = (file: unknown): boolean => below !== '' && typeof file === 'string' && file.startsWith(below);
const hangs = (name: string): boolean => (chosen.length === 0 || chosen.includes(name)) && fs.existsSync(when);

for (const name of ['open', 'mkdir', 'rename', 'unlink', 'lstat', 'readdir', 'link', 'chmod'] as const) {
  const real = fs[name] as unknown as Call;
  const instead = (...args: unknown[]): unknown =>
    isBelow(args[0]) && hangs(name) ? hang(() => real.apply(fs, args)) : real.apply(fs, args);
  Object.assign(fs, { [name]: instead });
  const later = promises[name] as unknown as Call;
  const insteadLater = (...args: unknown[]): unknown =>
    isBelow(args[0]) && hangs(name)
      ? new Promise((resolve) => void hang(() => resolve(later.apply(promises, args))))
      : later.apply(promises, args);
  Object.assign(promises, { [name]: insteadLater });
}

/** The descriptors of files below HANG_BELOW. */
const opened = new Set<unknown>();
const openedNow = fs.open as unknown as Call;
const openNoted = (...args: unknown[]): unknown => {
  const done = args.at(-1);
  if (!isBelow(args[0]) || typeof done !== 'function') return openedNow(...args);
  return openedNow(...args.slice(0, -1), (failure: unknown, fd: unknown) => {
    if (failure === null) opened.add(fd);
    (done as Call)(failure, fd);
  });
};
Object.assign(fs, { open: openNoted });
for (const name of ['read', 'write', 'fdatasync', 'close'] as const) {
  const real = fs[name] as unknown as Call;
  const instead = (...args: unknown[]): unknown => {
    const isOurs = name === 'close' ? opened.delete(args[0]) : opened.has(args[0]);
    return isOurs && hangs(name) ? hang(() => real.apply(fs, args)) : real.apply(fs, args);
  };
  Object.assign(fs, { [name]: instead });
}
syncBuiltinESMExports();
