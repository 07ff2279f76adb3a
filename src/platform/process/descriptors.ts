// How many file descriptors are left. libuv answers EMFILE on accept by closing the connections that wait, and tells nobody: the
// program has to look before.
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { ifPossible } from '../../kernel/if-possible.js';

/**
 * Kept for files, clients of HTTP (64), and pins and connections of plugins of root when connections and plugins of others want
 * everything.
 */
const RESERVE = 256;
/** Small limits keep a part of them. */
const RESERVED_PART = 1 / 4;

/** Looks at the descriptors of this process. */
export class Descriptors {
  #limit: number | undefined;

  /**
   * How many it may have open at once (RLIMIT_NOFILE, which Node raises to the hard limit at its start). Read when it is asked for
   * first: each question to a kubelet makes one of these, and sockets of root never ask.
   */
  get limit(): number {
    return (this.#limit ??= openFilesLimit());
  }

  /**
   * Whether only the reserve is left. The kernel gives the lowest free number, so the newest descriptor tells how many are open.
   *
   * @param newest a connection that was accepted just now; without it a descriptor is opened to find out
   */
  areScarce(newest?: Socket): boolean {
    const fd = (newest === undefined ? undefined : descriptorOf(newest)) ?? lowestFree();
    const { limit } = this;
    return fd === undefined || fd >= limit - Math.min(RESERVE, Math.ceil(limit * RESERVED_PART));
  }
}

/** The descriptor of a connection, or of a listener. Node keeps it in an undocumented place; undefined once it is closed. */
export function descriptorOf(socket: Socket | Server): number | undefined {
  const { _handle: handle } = socket as (Socket | Server) & { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

/** Undefined with EMFILE, or with ENFILE: the whole machine has none. */
function lowestFree(): number | undefined {
  const fd = ifPossible(() => openSync('/dev/null', 'r'));
  if (fd !== undefined) closeSync(fd);
  return fd;
}

function openFilesLimit(): number {
  const limits = ifPossible(() => readFileSync('/proc/self/limits', 'utf8')) ?? '';
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}
