// The uids that count as one user where room and time are shared. A user with a range in /etc/subuid (subuid(5), as useradd gives
// one) can have processes of 65,536 uids: counted apart, each would have a share. Identity is never looked up here: permissions
// go by the uid that the kernel names.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';
import { isTrusted, type UserOf } from '../../model/ids.js';

/** Of each file so much is read: tens of thousands of lines. */
const MOST_BYTES = 1024 * 1024;
/** Uids are below. */
const UIDS = 2 ** 32;

/** Where ranges and names are: the files of the machine; tests have their own. */
export interface UserFiles {
  readonly subuid: string;
  readonly passwd: string;
}

const OF_MACHINE: UserFiles = { subuid: '/etc/subuid', passwd: '/etc/passwd' };

/** Uids from `start` on, below `end`, that count as `user`. */
interface Range {
  readonly start: number;
  readonly end: number;
  readonly user: number;
}

/** The users of this machine. */
export class Users {
  readonly #ownUid: number;
  readonly #files: UserFiles;
  /** By start, and none in another one. */
  #ranges: readonly Range[] = [];
  #seen = '';

  /** @param ownUid the broker's own user */
  constructor(ownUid: number, files: UserFiles = OF_MACHINE) {
    this.#ownUid = ownUid;
    this.#files = files;
    this.look();
  }

  /**
   * The uid that stands for all uids of a user: the owner's for those of its range. A range of root's, of the broker's user's
   * or of a name that /etc/passwd does not have is a user of its own, named by its first uid: it makes nobody trusted.
   */
  readonly of: UserOf = (uid) => {
    if (isTrusted(uid, this.#ownUid)) return uid;
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranges[middle]?.end ?? 0) > uid) high = middle;
      else low = middle + 1;
    }
    const range = this.#ranges[low];
    return range !== undefined && range.start <= uid ? range.user : uid;
  };

  /** Reads the files again if they have changed. A file that cannot be read gives no ranges. */
  readonly look = (): void => {
    const { subuid, passwd } = this.#files;
    const seen = `${lifeOf(subuid)} ${lifeOf(passwd)}`;
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#ranges = rangesOf(beginningOf(subuid), () => uidsOf(beginningOf(passwd)), this.#ownUid);
  };
}

/** Ranges of subuid(5); other lines are left out, and of overlapping ranges the first has the common part. */
function rangesOf(text: string, uids: () => ReadonlyMap<string, number>, ownUid: number): readonly Range[] {
  const lines = text.split('\n').flatMap((line) => {
    const [, owner, start, count] = /^([^:]+):([0-9]{1,10}):([0-9]{1,10})$/.exec(line) ?? [];
    if (owner === undefined) return [];
    const range = { owner, start: Number(start), end: Number(start) + Number(count) };
    return range.end > range.start && range.end <= UIDS ? [range] : [];
  });
  if (lines.length === 0) return [];
  const known = uids();
  const users = new Map<string, number>();
  for (const { owner, start } of lines) {
    const uid = known.get(owner) ?? (/^[0-9]{1,10}$/.test(owner) ? Number(owner) : undefined);
    if (uid !== undefined && !isTrusted(uid, ownUid)) users.set(owner, uid);
    // The first uid of its range that is neither root's nor ours stands for an owner that is not known.
    else if (!users.has(owner))
      users.set(owner, [start, start + 1, start + 2].find((one) => !isTrusted(one, ownUid)) ?? start);
  }
  let taken = 0;
  const ranges: Range[] = [];
  for (const { owner, start, end } of lines.sort((a, b) => a.start - b.start)) {
    if (end <= taken) continue;
    ranges.push({ start: Math.max(start, taken), end, user: users.get(owner) ?? start });
    taken = end;
  }
  return ranges;
}

/** Of passwd(5); of a name that is there twice the first counts. */
function uidsOf(text: string): ReadonlyMap<string, number> {
  const uids = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [name = '', , uid = ''] = line.split(':');
    if (/^[0-9]{1,10}$/.test(uid) && !uids.has(name)) uids.set(name, Number(uid));
  }
  return uids;
}

/** A value that differs when a file has changed. */
function lifeOf(file: string): string {
  const found = ifPossible(() => statSync(file, { bigint: true }));
  return found?.isFile() !== true ? '' : [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
}

function beginningOf(file: string): string {
  if (lifeOf(file) === '') return '';
  const read = ifPossible(() => {
    const descriptor = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(MOST_BYTES);
      const read = bytes.subarray(0, readSync(descriptor, bytes)).toString('latin1');
      // Part of a line would be another range.
      return read.length < MOST_BYTES ? read : read.slice(0, read.lastIndexOf('\n') + 1);
    } finally {
      closeSync(descriptor);
    }
  });
  return read ?? '';
}
