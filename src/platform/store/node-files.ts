// Files of the machine. Callback functions of node:fs: one operation of ours is one after the other in libuv's pool.
import fs from 'node:fs';
import type { FilePort, OpenFile } from '../../checkpoint/file-port.js';

const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = fs.constants;
/** Up to this a file is read into room for all that may be there, without asking for its size. */
const SMALL_BYTES = 256 * 1024;
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** The real files. Holds nothing open but what it gave out. */
export const nodeFiles: FilePort = {
  makeDirectory: async (path) => {
    try {
      await finish((done) => fs.mkdir(path, DIRECTORY_MODE, done));
      return true;
    } catch (failure) {
      if (hasCode(failure, 'EEXIST')) return false;
      throw failure;
    }
  },
  read: (path, maxBytes) =>
    reading(path, async (fd) => {
      // One byte more than may be there, so that a small file takes a single read to its end.
      const room = maxBytes < SMALL_BYTES ? maxBytes : await sizeOf(fd);
      const bytes = await readAt(fd, 0, Math.min(room, maxBytes) + 1);
      if (bytes.length <= maxBytes) return bytes;
      throw Object.assign(new Error(`EFBIG: ${path} has more than ${maxBytes} bytes`), { code: 'EFBIG' });
    }),
  readTail: (path, maxBytes) =>
    reading(path, async (fd) => {
      const size = await sizeOf(fd);
      return readAt(fd, Math.max(0, size - maxBytes), Math.min(size, maxBytes));
    }),
  list: async (path) => (await orMissing(call<string[]>((done) => fs.readdir(path, done)))) ?? [],
  create: (path) => open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW),
  append: (path) => open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW),
  rename: (from, to) => finish((done) => fs.rename(from, to, done)),
  link: (from, to) => finish((done) => fs.link(from, to, done)),
  remove: async (path) => {
    await orMissing(finish((done) => fs.unlink(path, done)));
  },
  restrict: (path) => finish((done) => fs.chmod(path, FILE_MODE, done)),
  syncDirectory: async (path) => {
    const fd = await call<number>((done) => fs.open(path, O_RDONLY | O_DIRECTORY, done));
    try {
      await finish((done) => fs.fsync(fd, done));
    } finally {
      await close(fd);
    }
  },
};

async function open(path: string, flags: number): Promise<OpenFile> {
  const fd = await call<number>((done) => fs.open(path, flags, FILE_MODE, done));
  return {
    write: async (bytes) => {
      for (let at = 0; at < bytes.length;) {
        at += await call<number>((done) => fs.write(fd, bytes, at, bytes.length - at, null, done));
      }
    },
    // The size counts as data: a file that was read back would otherwise be shorter.
    sync: () => finish((done) => fs.fdatasync(fd, done)),
    close: () => close(fd),
  };
}

/** Opens a file for `work`; undefined when there is no file. */
async function reading(path: string, work: (fd: number) => Promise<Buffer>): Promise<Buffer | undefined> {
  const fd = await orMissing(call<number>((done) => fs.open(path, O_RDONLY, done)));
  if (fd === undefined) return undefined;
  try {
    return await work(fd);
  } finally {
    await close(fd);
  }
}

async function sizeOf(fd: number): Promise<number> {
  return (await call<fs.Stats>((done) => fs.fstat(fd, done))).size;
}

/** Up to so many bytes; fewer where the file ends. */
async function readAt(fd: number, position: number, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let length = 0;
  while (length < size) {
    const at = length;
    const count = await call<number>((done) => fs.read(fd, bytes, at, size - at, position + at, done));
    length += count;
    // Fewer than asked for: here a file ends.
    if (count < size - at) break;
  }
  return bytes.subarray(0, length);
}

function close(fd: number): Promise<void> {
  return finish((done) => fs.close(fd, done));
}

async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (failure) {
    if (hasCode(failure, 'ENOENT')) return undefined;
    throw failure;
  }
}

function hasCode(failure: unknown, code: string): boolean {
  return failure instanceof Error && (failure as NodeJS.ErrnoException).code === code;
}

/** A call that gives nothing. */
async function finish(start: (done: (failure: NodeJS.ErrnoException | null) => void) => void): Promise<void> {
  await call<undefined>(start);
}

type Done<T> = (failure: NodeJS.ErrnoException | null, value?: T) => void;

function call<T>(start: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((failure, value) => {
      if (failure === null) resolve(value as T);
      else reject(failure);
    });
  });
}
