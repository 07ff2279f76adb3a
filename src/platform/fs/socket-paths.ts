// Sockets and directories by their paths below directories that others may write. The kernel is never asked to follow a link
// that an ordinary user made: forty of them with long ways round take it 10 ms for one look, and a link leads to sockets that
// its owner could not reach. One of root's is followed where nobody else can move it, and put another in its place. Each directory on the way is opened without following links, and the name looked at in it; nor is
// anything asked of a file system that an ordinary user mounted.
import { closeSync, constants, fstatSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { incarnationKey, isOwnShortage, isTrusted } from '../../model/ids.js';
import { KUBELET_PLUGINS, type PinnedSocket, type PinProblem } from '../../model/plugin.js';
import type { Paths } from '../../model/settings.js';
import { Descriptors } from '../process/descriptors.js';
import { asKnown } from './as-known.js';
import { realDirectory } from './directories.js';
import { O_PATH, openSync, realpathSync, statusOf, statusOfName } from './name-calls.js';
import { mayBeMoved } from './name-movers.js';
import { incarnationOf, keyAt, pinSocket } from './socket-pin.js';
import { mountOf, needNoUsersMount, openedAt, statusAt } from './users-mounts.js';

const DIRECTORY = O_PATH | constants.O_DIRECTORY;

/** A root that is open. */
interface Opened {
  readonly fd: number;
  readonly mount: number;
}

/**
 * Looks at a name by a path to it; `need` fails where an ordinary user's file system would be asked about a descriptor of it, and `stays`
 * says whether nobody but trusted users may move the name, or a directory on the way to it (undefined: there was no descriptor to look with).
 */
type See<T> = (at: string, need: (fd: number) => void, stays: () => boolean | undefined) => T;

/** Looks at sockets and directories below some directories. */
export class SocketPaths {
  readonly #roots: readonly string[];
  readonly #isTrusted: (uid: number) => boolean;
  readonly #descriptors: Pick<Descriptors, 'areScarce'>;
  /** Where each root really is, once it exists. */
  readonly #real = new Map<string, string>();
  /** The same as the last look said it. */
  readonly #seen = new Map<string, string>();
  /** Roots that are open until the code that runs now has ended: it may look at many sockets. */
  readonly #open = new Map<string, Opened>();

  /**
   * @param roots absolute directories on whose way only root may write
   * @param isTrusted the users whose links are followed, and whose sockets are pinned with the last descriptors, too
   */
  constructor(
    roots: readonly string[],
    isTrusted: (uid: number) => boolean,
    descriptors: Pick<Descriptors, 'areScarce'> = new Descriptors(),
  ) {
    this.#roots = roots;
    this.#isTrusted = isTrusted;
    this.#descriptors = descriptors;
  }

  /**
   * The key of the incarnation of the socket at a path now; undefined where there is none, or only by a stranger's link.
   *
   * @param known the key where the directory does not answer
   */
  readonly keyAt = (file: string, known?: string): string | undefined => asKnown(() => this.#keyAt(file, known), known);

  #keyAt(file: string, known: string | undefined): string | undefined {
    const status = this.#reach(file, (at, need, stays) => {
      const found = statusAt(at, need) ?? 'missing';
      return found !== 'missing' && this.#isTrustedLink(found) && stays() !== false ? 'followed' : found;
    });
    if (status === 'missing') return undefined;
    if (status === 'followed') return keyAt(file, known);
    return status.isSocket() ? incarnationKey(incarnationOf(status)) : undefined;
  }

  /**
   * Pins the socket at a path. Those of ordinary users may not take the last descriptors: each is dialled, too, and the checkpoint
   * and root's plugins would have none.
   *
   * @returns the pin, with the path it really has; or why there is none
   */
  readonly pin = (file: string): PinnedSocket | PinProblem => {
    const pinned = this.#pinned(file);
    if ('problem' in pinned || this.#isTrusted(pinned.uid) || !this.#descriptors.areScarce()) return pinned;
    pinned.release();
    return { problem: 'error', detail: 'EMFILE' };
  };

  #pinned(file: string): PinnedSocket | PinProblem {
    const links: { readonly uid: bigint; readonly isTrusted: boolean; readonly stays: boolean | undefined }[] = [];
    const pinned = pinSocket(file, () => {
      const fd = this.#reach(file, (at, need, stays) => {
        const opened = openedAt(at, need);
        const status = fstatSync(opened, { bigint: true });
        if (status.isSymbolicLink())
          links.push({ uid: status.uid, isTrusted: this.#isTrustedLink(status), stays: stays() });
        return opened;
      });
      return fd === 'followed' ? openSync(file, O_PATH) : fd;
    });
    const [link] = links;
    if (link === undefined) return pinned;
    if (link.isTrusted && link.stays === true) return pinSocket(file);
    if (link.isTrusted && link.stays === undefined) return { problem: 'error', detail: 'EMFILE' };
    const why = link.isTrusted ? 'in a directory in which others may move it' : 'whose links are not followed';
    return { problem: 'not-a-socket', detail: `a link of uid ${String(link.uid)}, ${why}` };
  }

  /**
   * Where a root really is, links followed; undefined while there is none. As it was known where the directory above it does not answer:
   * no plugin's socket lies elsewhere for that.
   */
  readonly realRoot = (root: string): string | undefined => {
    const real = asKnown(() => realpathSync(root), this.#seen.get(root));
    if (real === undefined || !this.#roots.includes(root)) this.#seen.delete(root);
    else this.#seen.set(root, real);
    return real;
  };

  /**
   * The owner of a path: the owner of its directory, who can fill it with any files, or, in a directory of a trusted user, the
   * owner of the file. Nobody's (-1) when it cannot be seen.
   *
   * @param known the owner where the directory does not answer
   */
  readonly ownerOf = (file: string, known = -1): number => {
    const owner = (at: string, need: (fd: number) => void): number => {
      const uid = Number(statusOf(path.dirname(at))?.uid ?? -1);
      return this.#isTrusted(uid) ? Number(statusAt(at, need)?.uid ?? -1) : uid;
    };
    const look = (): number => {
      const uid = this.#reach(file, owner);
      return uid === 'followed' ? owner(file, () => undefined) : uid;
    };
    return asKnown(look, known) ?? -1;
  };

  /**
   * Works in the directory at a path, to which no link leads, not even one of root's.
   *
   * @param work is given a path to it, good until it returns, whose last part is a dot
   * @throws NodeJS.ErrnoException ENOENT, ENOTDIR (a link, too), EACCES; EMFILE, ENFILE; the errors of `work`
   */
  readonly inDirectory = <T>(directory: string, work: (at: string) => T): T => {
    const within = `${directory}/.`;
    if (this.#roots.includes(directory)) return work(within);
    const found = this.#reachBelow(this.#needRoot(within), within, (at) => ({ result: work(at) }));
    if (found === 'followed')
      throw Object.assign(new Error(`ENOTDIR: a link leads to ${directory}`), { code: 'ENOTDIR' });
    return found.result;
  };

  /**
   * The file at the end of a path, looked at by the name in its directory.
   *
   * @returns `followed` where a directory on the way is a link that is followed
   * @throws NodeJS.ErrnoException ENOENT, ENOTDIR (an ordinary user's link, too), EACCES
   */
  #reach<T>(file: string, see: See<T>): T | 'followed' {
    const root = this.#needRoot(file);
    try {
      return this.#reachBelow(root, file, see);
    } catch (failure) {
      // Without descriptors to go down with, living plugins must not seem to have gone: the last name is looked at by its path.
      if (isOwnShortage((failure as NodeJS.ErrnoException).code ?? '')) {
        return see(
          file,
          () => undefined,
          () => undefined,
        );
      }
      throw failure;
    }
  }

  #reachBelow<T>(root: string, file: string, see: See<T>): T | 'followed' {
    const folders = file.slice(root.length + 1).split('/');
    const name = folders.pop() ?? '';
    const opened: number[] = [];
    const { fd, mount } = this.#handle(root);
    const need = (one: number): void => needNoUsersMount(one, mount, this.#isTrusted);
    // Only then does its path lead a second time where it led when its owner was looked at.
    const stays = (): boolean =>
      [fd, ...opened].every((one) => !mayBeMoved(fstatSync(one), (uid) => this.#isTrusted(uid)));
    let at = fd;
    try {
      for (const folder of folders) {
        const here = inside(at, folder);
        try {
          at = openSync(here, DIRECTORY | constants.O_NOFOLLOW);
        } catch (failure) {
          const status = statusOfName(here);
          if (status !== undefined && this.#isTrustedLink(status) && stays()) return 'followed';
          throw failure;
        }
        opened.push(at);
        need(at);
      }
      return see(inside(at, name), need, stays);
    } finally {
      opened.forEach((one) => closeSync(one));
    }
  }

  #isTrustedLink(status: BigIntStats): boolean {
    return status.isSymbolicLink() && this.#isTrusted(Number(status.uid));
  }

  /** @throws NodeJS.ErrnoException ENOENT: no caller has business elsewhere, on the way there are links of anybody */
  #needRoot(file: string): string {
    const root = this.#rootOf(file);
    if (root !== undefined) return root;
    throw Object.assign(new Error(`${file} lies below no directory of sockets`), { code: 'ENOENT' });
  }

  /** The root that a path lies below, as it is written or as it really is. */
  #rootOf(file: string): string | undefined {
    for (const root of this.#roots) {
      if (file.startsWith(`${root}/`)) return root;
      const real = this.#real.get(root) ?? realDirectory(root);
      if (real === undefined) continue;
      this.#real.set(root, real);
      if (file.startsWith(`${real}/`)) return real;
    }
    return undefined;
  }

  #handle(root: string): Opened {
    const known = this.#open.get(root);
    if (known !== undefined) return known;
    const fd = openSync(root, DIRECTORY);
    // Before anything else can fail: to learn the mount takes another descriptor.
    queueMicrotask(() => {
      this.#open.delete(root);
      closeSync(fd);
    });
    const opened = { fd, mount: mountOf(fd) };
    this.#open.set(root, opened);
    return opened;
  }
}

function inside(directory: number, name: string): string {
  return `/proc/self/fd/${String(directory)}/${name}`;
}

/**
 * Looks at sockets of plugins, and at directories they are in: below the doors, and where drivers keep theirs.
 *
 * @param ownUid the broker's own user
 */
export function pluginSockets(
  { devicePlugins, pluginsRegistry, plugins }: Pick<Paths, 'devicePlugins' | 'pluginsRegistry' | 'plugins'>,
  ownUid: number,
): SocketPaths {
  return new SocketPaths([devicePlugins, pluginsRegistry, plugins, KUBELET_PLUGINS], (uid) => isTrusted(uid, ownUid));
}
