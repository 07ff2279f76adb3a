// The lock's place in the file system: taken only when nobody has it, and given back only by its holder.
import { randomBytes } from 'node:crypto';
import { chmod, link, lstat, open, readdir, rename, unlink } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { sleep, type Clock } from '../../kernel/clock.js';
import { hasCode } from '../../kernel/errno.js';
import { loadLibc, type Libc } from '../peer/libc.js';
import { isOursOrRoots } from '../process/own-uid.js';

/** Sockets on their way to become the lock. */
const PRIVATE = '.lock-';
/**
 * A gate in which nobody listens is looked at again: a starter is in it for milliseconds, and each look takes one. A process that
 * holds the name and does not listen is no starter.
 */
const GATE_LOOKS = 10;
const LOOK_EVERY_MS = 2;

/** Octets of sun_path, to which Node 20 fills up an abstract name with zeros: that is another name than the same without them. */
const PADDED = 108;

/** Listens on a path, or at a socket that is bound, or rejects with the errno. */
function listen(server: net.Server, at: string | { readonly fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (failure: Error): void => {
      server.off('listening', listening);
      reject(failure);
    };
    const listening = (): void => {
      server.off('error', failed);
      // An accept that fails for want of descriptors is no reason to die.
      server.on('error', () => undefined);
      resolve();
    };
    server.once('error', failed);
    server.once('listening', listening);
    server.listen(at);
  });
}

/**
 * Puts the socket of a listening server in place as the lock: at no time is there a lock that nobody listens on.
 *
 * @param server not listening yet
 * @param dead the socket file of a dead holder that may be removed, by lockId
 * @returns the lockId it has now, or undefined when somebody else was faster
 */
export async function place(
  server: net.Server,
  lock: string,
  dead: string | undefined,
  name: string,
): Promise<string | undefined> {
  const folder = path.dirname(lock);
  const own = path.join(folder, PRIVATE + name);
  // A socket is bound on the main thread, which a disk that hangs would stop: whether it takes a new name is tried apart from it.
  await (await open(own, 'wx', 0o600)).close();
  await unlink(own).catch(() => undefined); // another starter may have swept it away
  await listen(server, own);
  try {
    await chmod(own, 0o600);
    if (dead !== undefined && !(await removeDead(lock, dead, `${own}.dead`))) return undefined;
    await link(own, lock);
    return await lockId(own);
  } catch (failure) {
    if (hasCode(failure, 'EEXIST', 'ENOENT')) return undefined;
    throw failure;
  } finally {
    await unlink(own).catch(() => undefined);
  }
}

/** Removes the lock if it still is the one that was seen; one that came meanwhile is put back. */
async function removeDead(lock: string, dead: string, aside: string): Promise<boolean> {
  await rename(lock, aside);
  const isDead = (await lockId(aside)) === dead;
  if (!isDead) await link(aside, lock).catch(() => undefined);
  await unlink(aside);
  return isDead;
}

/** Removes the files of starters that died on the way. */
export async function sweep(lock: string): Promise<void> {
  const folder = path.dirname(lock);
  for (const name of await readdir(folder)) {
    if (name.startsWith(PRIVATE)) await unlink(path.join(folder, name)).catch(() => undefined);
  }
}

/**
 * Removes a file with the name of the lock that is no socket: it locks no root, and nothing of it is opened. A directory, which
 * may hold something, gets another name. Fine when there is nothing.
 */
export async function clearWay(lock: string): Promise<void> {
  try {
    const status = await lstat(lock);
    if (status.isDirectory()) await rename(lock, `${lock}.aside-${randomBytes(4).toString('hex')}`);
    else if (!status.isSocket()) await unlink(lock);
  } catch (failure) {
    if (!hasCode(failure, 'ENOENT')) throw failure;
  }
}

/** Which file has a name: inode numbers are used again, the birth time tells lives apart. */
export async function lockId(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, birthtimeNs } = await lstat(file, { bigint: true });
    return `${dev}:${ino}:${birthtimeNs}`;
  } catch (failure) {
    if (hasCode(failure, 'ENOENT')) return undefined;
    throw failure;
  }
}

/**
 * Lets one starter at a time look at the lock and take it. The gate is an abstract socket name, which the kernel frees when its
 * process ends; it spans a network namespace, and any user may take the name. Where it cannot be had, because it cannot be made
 * or a user that could not take the lock holds it, `work` is done without it.
 *
 * @param libc undefined: koffi is not there
 * @returns undefined when another starter is in the gate; where the kernel cannot refuse descriptors it is not known, and waited for a
 * little
 */
export async function throughGate<T>(
  lock: string,
  clock: Clock,
  work: () => Promise<T>,
  libc = loadLibc(),
): Promise<T | undefined> {
  const { dev, ino } = await lstat(path.dirname(lock), { bigint: true });
  const name = `plugin-broker-${dev}-${ino}`;
  const gate = libc === undefined ? new PlainGate(name) : new Gate(libc, name);
  for (let look = 1; look <= GATE_LOOKS && !(await gate.enter()); look += 1) {
    const inside = await gate.whoIsIn();
    if (inside === 'starter') return undefined;
    if (inside === 'stranger') break;
    await sleep(clock, LOOK_EVERY_MS);
  }
  try {
    return await work();
  } finally {
    gate.close();
  }
}

/**
 * The holder of the gate: a starter (root or our own user, the only ones that can reach the lock), another user, or nobody: the
 * holder has left, or never listened.
 */
type Inside = 'starter' | 'stranger' | 'nobody';

function insideOf(uid: number | undefined): Inside {
  return uid === undefined || isOursOrRoots(uid) ? 'starter' : 'stranger';
}

/**
 * The gate, in both forms of its name, so that starters with any Node meet. Everybody knows the name, and closing what a stranger passes
 * would hold the start up (platform/peer/passed-descriptors): its sockets refuse that before they have it.
 */
class Gate {
  readonly #libc: Libc;
  readonly #forms: readonly string[];
  readonly #servers: net.Server[] = [];
  /** Bound, and listening to nobody. */
  readonly #silent: number[] = [];
  /** Whether sockets can refuse descriptors: from Linux 6.16 on. */
  readonly #refuses: boolean;
  #taken = '';

  constructor(libc: Libc, name: string) {
    this.#libc = libc;
    const made = libc.socketWithoutDescriptors();
    this.#refuses = typeof made === 'number';
    if (typeof made === 'number') libc.close(made);
    this.#forms = [`@${name}`, `@${name}`.padEnd(PADDED, '\0')];
  }

  /** @returns false where somebody has the name; true, too, where it cannot be had */
  async enter(): Promise<boolean> {
    for (const form of this.#forms) {
      const fd = this.#libc.bound(form);
      if (typeof fd !== 'number') {
        this.close();
        this.#taken = form;
        return fd.error !== 'EADDRINUSE';
      }
      // Where everybody who connects could pass descriptors nobody can connect: the name has no listener.
      if (!this.#refuses) {
        this.#silent.push(fd);
        continue;
      }
      const server = net.createServer((socket) => socket.destroy());
      this.#servers.push(server);
      await listen(server, { fd }).catch(() => undefined);
    }
    return true;
  }

  /** Our gates take every connection, so that a full queue is another user's. */
  whoIsIn(): Inside {
    // Nor do we connect there: another starter is waited for, and a stranger as long.
    if (!this.#refuses) return 'nobody';
    const found = this.#libc.listenerAt(this.#taken);
    if (!('error' in found)) return insideOf(found.uid);
    return found.error === 'ECONNREFUSED' ? 'nobody' : 'stranger';
  }

  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
    for (const fd of this.#silent.splice(0)) this.#libc.close(fd);
  }
}

/** The gate without koffi. */
class PlainGate {
  readonly #name: string;
  readonly #server = net.createServer((socket) => socket.destroy());

  constructor(name: string) {
    this.#name = `\0${name}`;
  }

  async enter(): Promise<boolean> {
    try {
      await listen(this.#server, this.#name);
      return true;
    } catch (failure) {
      return !hasCode(failure, 'EADDRINUSE');
    }
  }

  whoIsIn(): Promise<Inside> {
    return new Promise((resolve) => {
      const socket = net.connect(this.#name);
      socket.once('connect', () => {
        socket.destroy();
        resolve(insideOf(undefined));
      });
      socket.once('error', (failure) => resolve(hasCode(failure, 'ECONNREFUSED') ? 'nobody' : 'stranger'));
    });
  }

  close(): void {
    this.#server.close();
  }
}
