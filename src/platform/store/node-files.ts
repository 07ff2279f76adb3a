// Files of the machine: regular ones only; other files of such names are refused. Callback functions of node:fs: one operation of
// ours is one after the other in libuv's pool.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { FilePort, OpenFile } from '../../checkpoint/file-port.js';
import { hasCode } from '../../kernel/errno.js';

const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_DIRECTORY } = fs.constants;
/** Opening must not wait for a file that is not regular (a FIFO without a writer), and must not follow a link. */
const WARY = O_NOFOLLOW | O_NONBLOCK;
/** Something that is no regular file has a name of ours. */
const FOREIGN = ['EISDIR', 'ENXIO', 'ELOOP', 'EFTYPE'];
/** Up to this a file is read into room for all that may be there, without asking for its size. */
const SMALL_BYTES = 256 * 1024;
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** The real files. Holds nothing open but the files it returned. */
export const nodeFiles: FilePort = {
  makeDirectory: async (path) => {
    try {
      await finish((done) => fs.mkdir(path, DIRECTORY_MODE, done));
      return true;
    } catch (failure) {
      if (!hasCode(failure, 'EEXIST')) throw failure;
      // A link to a directory is an operator's.
      const status = await call<fs.Stats>((done) => fs.stat(path, done)).catch(() => undefined);
      if (status?.isDirectory() === true) return false;
      await setAside(path);
      await finish((done) => fs.mkdir(path, DIRECTORY_MODE, done));
      return true;
    }
  },
  read: (path, maxBytes) =>
    reading(path, async (fd) => {
      // One byte more than may be there, so that a small file takes a single read to its end.
      const size = await sizeOf(fd, path);
      const room = maxBytes < SMALL_BYTES ? maxBytes : size;
      const bytes = await readAt(fd, 0, Math.min(room, maxBytes) + 1);
      if (bytes.length <= maxBytes) return bytes;
      throw Object.assign(new Error(`EFBIG: ${path} has more than ${maxBytes} bytes`), { code: 'EFBIG' });
    }),
  readTail: (path, maxBytes) =>
    reading(path, async (fd) => {
      const size = await sizeOf(fd, path);
      return readAt(fd, Math.max(0, size - maxBytes), Math.min(size, maxBytes));
    }),
  list: async (path) => {
    const entries = await orMissing(call<fs.Dirent[]>((done) => fs.readdir(path, { withFileTypes: true }, done)));
    return entries?.map((entry) => ({ name: entry.name, isFile: entry.isFile() })) ?? [];
  },
  room: async (path) => {
    const { bavail, blocks, bsize } = await call<fs.StatsFs>((done) => fs.statfs(path, done));
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  },
  sizeOf: async (path) => {
    const status = await orMissing(call<fs.Stats>((done) => fs.lstat(path, done)));
    return status?.isFile() === true ? status.size : undefined;
  },
  create: async (path) => {
    try {
      return await open(path, O_WRONLY | O_CREAT | O_EXCL | WARY);
    } catch (failure) {
      if (!hasCode(failure, 'EEXIST')) throw failure;
      // Left from a write that was cut short; or something else, which is not opened.
      await removeName(path);
      return open(path, O_WRONLY | O_CREAT | O_EXCL | WARY);
    }
  },
  append: async (path) => {
    const flags = O_WRONLY | O_CREAT | O_APPEND | WARY;
    try {
      return await open(path, flags);
    } catch (failure) {
      if (!hasCode(failure, ...FOREIGN)) throw failure;
      await setAside(path);
      return open(path, flags);
    }
  },
  rename: async (from, to) => {
    try {
      await finish((done) => fs.rename(from, to, done));
    } catch (failure) {
      if (!hasCode(failure, 'EISDIR', 'ENOTEMPTY', 'EEXIST')) throw failure;
      await setAside(to);
      await finish((done) => fs.rename(from, to, done));
    }
  },
  link: async (from, to) => {
    try {
      await finish((done) => fs.link(from, to, done));
    } catch (failure) {
      if (!hasCode(failure, 'EPERM') || !(await isDirectory(from))) throw failure;
      await setAside(from);
      throw Object.assign(new Error(`ENOENT: ${from} was a directory and was moved aside`), { code: 'ENOENT' });
    }
  },
  remove: removeName,
  restrict: async (path) => {
    // A link would lead to another file, and a directory without the right to enter it could not be removed.
    const status = await orMissing(call<fs.Stats>((done) => fs.lstat(path, done)));
    if (status?.isFile() === true) await finish((done) => fs.chmod(path, FILE_MODE, done));
  },
  syncDirectory: async (path) => {
    const fd = await call<number>((done) => fs.open(path, O_RDONLY | O_DIRECTORY, done));
    try {
      await finish((done) => fs.fsync(fd, done));
    } finally {
      // Nobody waits for it: a directory that is only read has nothing to write when it is closed.
      void close(fd).catch(() => undefined);
    }
  },
};

/** Removes a name; a directory, which may hold something, is moved aside. */
async function removeName(path: string): Promise<void> {
  try {
    await orMissing(finish((done) => fs.unlink(path, done)));
  } catch (failure) {
    if (!hasCode(failure, 'EISDIR', 'EPERM') || !(await isDirectory(path))) throw failure;
    await setAside(path);
  }
}

/** Gives something that is no file of ours another name. Nothing is opened, nothing is lost. */
async function setAside(path: string): Promise<void> {
  await finish((done) => fs.rename(path, `${path}.aside-${randomBytes(4).toString('hex')}`, done));
}

async function isDirectory(path: string): Promise<boolean> {
  return (await orMissing(call<fs.Stats>((done) => fs.lstat(path, done))))?.isDirectory() === true;
}

async function open(path: string, flags: number): Promise<OpenFile> {
  const fd = await call<number>((done) => fs.open(path, flags, FILE_MODE, done));
  // A file that was just made is one.
  if ((flags & O_EXCL) === 0) await onlyFiles(fd, path);
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
  const fd = await orMissing(call<number>((done) => fs.open(path, O_RDONLY | WARY, done)));
  if (fd === undefined) return undefined;
  try {
    return await work(fd);
  } finally {
    await close(fd);
  }
}

/** @throws EFTYPE when it is no regular file */
async function sizeOf(fd: number, path: string): Promise<number> {
  const status = await call<fs.Stats>((done) => fs.fstat(fd, done));
  if (status.isFile()) return status.size;
  throw Object.assign(new Error(`EFTYPE: ${path} is not a regular file`), { code: 'EFTYPE' });
}

/** Closes a file that is not regular. @throws EFTYPE */
async function onlyFiles(fd: number, path: string): Promise<void> {
  try {
    await sizeOf(fd, path);
  } catch (failure) {
    await close(fd);
    throw failure;
  }
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
