// The few system calls that Node has no name for, through koffi. It is native and optional: every user of this file works without
// it. Nothing here waits: sockets are non-blocking.
import { createRequire } from 'node:module';
import { getSystemErrorName } from 'node:util';
import type koffi from 'koffi';
import { ifPossible } from '../../kernel/if-possible.js';
import { inetDiagOf, inetDiagQuestion, inetDiagUid, type TcpEnd } from './inet-diag.js';
import { addressIn, AF_NETLINK, AF_UNIX, KERNEL, SOCKADDR_BYTES, unixAddress } from './sockaddr.js';
import { mountIn, OF_DESCRIPTOR_AS_KNOWN, STATX_BYTES, STATX_MNT_ID } from './statx.js';

const NETLINK_SOCK_DIAG = 4;
const [SOCK_STREAM, SOCK_DGRAM, SOCK_RAW] = [1, 2, 3];
const [SOCK_NONBLOCK, SOCK_CLOEXEC] = [0o4000, 0o2000000];
const [SOL_SOCKET, SO_PEERCRED, SO_OOBINLINE] = [1, 17, 10];
/** Linux 6.16 and later: whether a socket takes descriptors that a peer passes. */
const SO_PASSRIGHTS = 83;
const [NO, YES] = [Buffer.alloc(4), Buffer.alloc(4, 1)];
const SYS_OPENAT2 = 437;
const AT_FDCWD = -100;
const O_CLOEXEC = 0o2000000;
const RESOLVE_CACHED = 0x20n;
const MSG_NOSIGNAL = 0x4000;
const MNT_DETACH = 2;
/** struct ucred: pid, uid, gid, 32 bits each. */
const UCRED_BYTES = 12;

/** The process at the other end of a connected unix socket, as the kernel names it. */
export interface Credentials {
  readonly uid: number;
  readonly gid: number;
  /** 0 where the process is not visible from here (another pid namespace). */
  readonly pid: number;
}

/** A call that failed, with the system's code such as ECONNREFUSED. */
export interface Failed {
  readonly error: string;
}

/** A connection of TCP that was accepted. */
export interface AcceptedTcp {
  /** Its descriptor, which is the caller's to close. */
  readonly fd: number;
  /** The address at its other end, as Node writes it or without `::`. */
  readonly address: string;
  /** As `uidOfTcp` says it. */
  readonly uid: number | 'nobody' | undefined;
}

/** A descriptor, or why nothing was accepted: most often EAGAIN, nobody waits. */
export type Accepted = number | Failed;

/** The system calls. All synchronous, microseconds each; none throws. */
export interface Libc {
  /** Credentials of the peer of a connected socket. */
  peerOf(fd: number): Credentials | Failed;
  /** Takes the next connection that waits at a listening socket: its descriptor, which is the caller's to close. */
  accept(listening: number): Accepted;
  close(fd: number): void;
  /** Has the second descriptor lead where the first one does (dup2). */
  duplicate(fd: number, other: number): void;
  /** The same as `accept` at one of TCP, with its peer: a fifth of the time that an accepted `Socket` and `uidOfTcp` take. */
  acceptTcp(listening: number): AcceptedTcp | Failed;
  /**
   * A peer of this unix socket, or of one that is accepted at it, can pass no descriptors from now on: its sendmsg fails. Failed with
   * ENOPROTOOPT where the kernel is older than Linux 6.16.
   */
  takeNoDescriptors(fd: number): Failed | undefined;
  /** Octets that the peer of a connected socket sends out of band are read in line with all others. */
  readInLine(fd: number): void;
  /** Makes a unix socket that takes no descriptors, to be connected: its descriptor, which is the caller's to close. */
  socketWithoutDescriptors(): number | Failed;
  /**
   * Binds a unix socket to a path or an abstract name, without listening yet: its descriptor, which is the caller's to close. It takes no
   * descriptors where the kernel can refuse them.
   */
  bound(address: string): number | Failed;
  /**
   * Opens a path as far as the kernel has it in its cache, so that neither a disk nor the lock of a directory is waited for (openat2 with
   * RESOLVE_CACHED, Linux 5.12): EAGAIN where it has not, ENOSYS or EINVAL from older kernels.
   *
   * @param directory a descriptor that the path begins at; undefined: the working directory
   * @returns a descriptor, which is the caller's to close
   */
  openCached(directory: number | undefined, path: string, flags: number): number | Failed;
  /** Has the C library give back the memory that nobody uses: milliseconds. */
  trim(): void;
  /** The id of the mount that a descriptor is on (statx, Linux 5.8); undefined where the system does not say. */
  mountOf(fd: number): number | undefined;
  /** Takes away the mount whose root a descriptor is, as `umount -l` does. Returns whether it could. */
  detach(fd: number): boolean;
  /** Connects to a path, reads the listener's credentials, and closes again. EAGAIN: its backlog is full. */
  listenerAt(path: string): Credentials | Failed;
  /**
   * The uid of the process that has one end of a TCP connection open; `nobody`: none of this network namespace has; undefined: the
   * kernel cannot be asked.
   */
  uidOfTcp(end: TcpEnd, other: TcpEnd): number | 'nobody' | undefined;
  /** Sends one datagram to a path, or to an abstract name that begins with `@`. Undefined: sent. */
  sendDatagram(address: string, text: string): Failed | undefined;
}

const once: { loaded?: { readonly libc: Libc | undefined } } = {};

/** The calls where somebody has loaded koffi. */
export function loadedLibc(): Libc | undefined {
  return once.loaded?.libc;
}

/**
 * Loads koffi and finds the calls, in about 5 ms the first time; undefined where it is not installed or has no binary for this machine.
 */
export function loadLibc(): Libc | undefined {
  once.loaded ??= { libc: ifPossible(() => new KoffiLibc(createRequire(import.meta.url)('koffi') as typeof koffi)) };
  return once.loaded.libc;
}

type Call = (...args: unknown[]) => number;

class KoffiLibc implements Libc {
  readonly #koffi: typeof koffi;
  readonly #socket: Call;
  readonly #bind: Call;
  readonly #connect: Call;
  readonly #accept: Call;
  readonly #acceptFrom: Call;
  readonly #getsockopt: Call;
  readonly #getsockname: Call;
  readonly #setsockopt: Call;
  readonly #sendto: Call;
  readonly #recv: Call;
  readonly #close: Call;
  readonly #dup2: Call;
  readonly #syscall: Call;
  readonly #umount: Call;
  /** Undefined where the C library has no such call. */
  readonly #statx: Call | undefined;
  readonly #trim: Call | undefined;
  readonly #status = Buffer.alloc(STATX_BYTES);
  /** struct open_how: flags, mode and RESOLVE_CACHED, 64 bits each. */
  readonly #how = new BigUint64Array(3);
  /** The socket that asks for the users of TCP connections; -1: none. */
  #netlink = -1;
  readonly #answer = Buffer.alloc(512);

  constructor(library: typeof koffi) {
    const libc = library.load(null);
    this.#koffi = library;
    this.#how[2] = RESOLVE_CACHED;
    this.#socket = libc.func('int socket(int, int, int)');
    this.#bind = libc.func('int bind(int, const uint8_t *, uint32_t)');
    this.#connect = libc.func('int connect(int, const uint8_t *, uint32_t)');
    this.#accept = libc.func('int accept4(int, void *, void *, int)');
    this.#acceptFrom = libc.func('int accept4(int, _Out_ uint8_t *, _Inout_ uint32_t *, int)');
    this.#getsockopt = libc.func('int getsockopt(int, int, int, _Out_ uint8_t *, _Inout_ uint32_t *)');
    this.#getsockname = libc.func('int getsockname(int, _Out_ uint8_t *, _Inout_ uint32_t *)');
    this.#setsockopt = libc.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)');
    this.#sendto = libc.func('intptr_t sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)');
    this.#recv = libc.func('intptr_t recv(int, _Out_ uint8_t *, size_t, int)');
    this.#close = libc.func('int close(int)');
    this.#dup2 = libc.func('int dup2(int, int)');
    this.#syscall = libc.func('long syscall(long, int, const char *, const uint8_t *, size_t)');
    this.#umount = libc.func('int umount2(const char *, int)');
    this.#statx = ifPossible(() => libc.func('int statx(int, const char *, int, unsigned int, _Out_ uint8_t *)'));
    this.#trim = ifPossible(() => libc.func('int malloc_trim(size_t)'));
  }

  peerOf(fd: number): Credentials | Failed {
    const raw = Buffer.alloc(UCRED_BYTES);
    if (this.#getsockopt(fd, SOL_SOCKET, SO_PEERCRED, raw, [UCRED_BYTES]) !== 0) return this.#failed();
    const [pid = 0, uid = 0, gid = 0] = new Uint32Array(raw.buffer, raw.byteOffset, 3);
    return { pid, uid, gid };
  }

  accept(listening: number): Accepted {
    const fd = this.#accept(listening, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd < 0 ? this.#failed() : fd;
  }

  close(fd: number): void {
    this.#close(fd);
  }

  duplicate(fd: number, other: number): void {
    this.#dup2(fd, other);
  }

  acceptTcp(listening: number): AcceptedTcp | Failed {
    const [other, own] = [Buffer.alloc(SOCKADDR_BYTES), Buffer.alloc(SOCKADDR_BYTES)];
    const fd = this.#acceptFrom(listening, other, [SOCKADDR_BYTES], SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return this.#failed();
    const isKnown = this.#getsockname(fd, own, [SOCKADDR_BYTES]) === 0;
    return { fd, address: addressIn(other), uid: isKnown ? this.#uidOf(inetDiagOf(other, own)) : undefined };
  }

  takeNoDescriptors(fd: number): Failed | undefined {
    return this.#setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, NO, NO.length) === 0 ? undefined : this.#failed();
  }

  readInLine(fd: number): void {
    this.#setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, YES, YES.length);
  }

  socketWithoutDescriptors(): number | Failed {
    const fd = this.#socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return this.#failed();
    const failed = this.takeNoDescriptors(fd);
    if (failed !== undefined) this.#close(fd);
    return failed ?? fd;
  }

  bound(address: string): number | Failed {
    const to = unixAddress(address);
    if (to === undefined) return { error: 'ENAMETOOLONG' };
    const fd = this.#socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return this.#failed();
    this.takeNoDescriptors(fd);
    if (this.#bind(fd, to, to.length) === 0) return fd;
    const failed = this.#failed();
    this.#close(fd);
    return failed;
  }

  openCached(directory: number | undefined, path: string, flags: number): number | Failed {
    if (path.includes('\0')) return { error: 'EINVAL' };
    this.#how[0] = BigInt(flags | O_CLOEXEC);
    const fd = this.#syscall(SYS_OPENAT2, directory ?? AT_FDCWD, path, this.#how, this.#how.byteLength);
    return fd < 0 ? this.#failed() : fd;
  }

  trim(): void {
    this.#trim?.(0);
  }

  mountOf(fd: number): number | undefined {
    if (this.#statx?.(fd, '', OF_DESCRIPTOR_AS_KNOWN, STATX_MNT_ID, this.#status) !== 0) return undefined;
    return mountIn(this.#status);
  }

  detach(fd: number): boolean {
    return this.#umount(`/proc/self/fd/${String(fd)}`, MNT_DETACH) === 0;
  }

  listenerAt(path: string): Credentials | Failed {
    return this.#withSocket(SOCK_STREAM, path, (fd, address) => {
      this.takeNoDescriptors(fd);
      if (this.#connect(fd, address, address.length) !== 0) return this.#failed();
      return this.peerOf(fd);
    });
  }

  uidOfTcp(end: TcpEnd, other: TcpEnd): number | 'nobody' | undefined {
    const question = inetDiagQuestion(end, other);
    return question && this.#uidOf(question);
  }

  /** The answer to a question of inet-diag. Its socket is kept: making one for each question takes longer than the question. */
  #uidOf(question: Buffer): number | 'nobody' | undefined {
    if (this.#netlink < 0)
      this.#netlink = this.#socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    // The kernel answers in the call that sends.
    const sent = this.#sendto(this.#netlink, question, question.length, MSG_NOSIGNAL, KERNEL, KERNEL.length);
    const length = sent < 0 ? -1 : this.#recv(this.#netlink, this.#answer, this.#answer.length, 0);
    if (length > 0) return inetDiagUid(this.#answer.subarray(0, length));
    // An answer that comes late is to another question.
    if (this.#netlink >= 0) this.#close(this.#netlink);
    this.#netlink = -1;
    return undefined;
  }

  sendDatagram(address: string, text: string): Failed | undefined {
    const data = Buffer.from(text);
    return this.#withSocket(SOCK_DGRAM, address, (fd, to) => {
      const sent = this.#sendto(fd, data, data.length, MSG_NOSIGNAL, to, to.length);
      return sent === data.length ? undefined : this.#failed();
    });
  }

  #withSocket<T>(kind: number, name: string, use: (fd: number, address: Buffer) => T): T | Failed {
    const address = unixAddress(name);
    return address === undefined ? { error: 'ENAMETOOLONG' } : this.#with(AF_UNIX, kind, 0, (fd) => use(fd, address));
  }

  #with<T>(family: number, kind: number, protocol: number, use: (fd: number) => T): T | Failed {
    const fd = this.#socket(family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd < 0) return this.#failed();
    try {
      return use(fd);
    } finally {
      this.#close(fd);
    }
  }

  /** The code of the last call. errno must be asked for before anything else is called. */
  #failed(): Failed {
    return { error: getSystemErrorName(-this.#koffi.errno()) };
  }
}
