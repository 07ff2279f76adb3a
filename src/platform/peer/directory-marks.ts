// Marks of directories that are to be watched. The first watch of a directory has the kernel go through all names in it that it remembers,
// those that are not there among them: somebody who asked for eight million of them has it take a second, and again each time that the
// only watch is let go and taken up again. A mark is a watch whose events nobody reads. It is made in the thread pool before the one whose
// events are taken, which takes microseconds then, and is let go once that one stands: a directory takes one watch of the system's.
import { closeSync, fstat } from 'node:fs';
import { createRequire } from 'node:module';
import { release } from 'node:os';
import type koffi from 'koffi';
import { withDeadline, type Clock } from '../../kernel/clock.js';
import { systemClock } from '../time/system-clock.js';
import { loadLibc } from './libc.js';

const IN_CLOEXEC = 0o2000000;
/** Reads of files in the directory (inotify(7)): only what may happen to a file in it counts, and sockets are not read. */
const IN_ACCESS = 1;
/** Eight million names take 1.1 s. A watch that comes while a mark is made finds the work begun and does not wait for it. */
const MARK_MS = 2000;
/** Before it each watch went over all names, marked or not: marks would add to that. */
const FIRST_LINUX = [6, 12] as const;

/** The system calls of marks, on one inotify instance. */
export interface MarkCalls {
  /** Watches a directory, in the thread pool. @returns its watch, the same for the same directory; below 0: there is none */
  add(at: string): Promise<number>;
  /** The same at once: for a directory that is watched already, so that it takes microseconds. */
  addNow(at: string): number;
  /** Ends a watch. */
  remove(watch: number): void;
  /** Gives the instance back, and all its watches. */
  close(): void;
}

/** What a watch needs of marks (platform/fs/paced-watch). */
export type Marks = Pick<DirectoryMarks, 'during' | 'hold'>;

/**
 * The marks of one inotify instance. One is made at a time: the pool has four threads, and disks need them. Its events stay unread; the
 * kernel keeps fs.inotify.max_queued_events of them at most.
 */
export class DirectoryMarks {
  readonly #clock: Clock;
  #calls: MarkCalls | undefined;
  /** By watch: how many hold it. */
  readonly #held = new Map<number, { holders: number }>();
  #last: Promise<unknown> = Promise.resolve();
  /** A mark was not made in time, and its call has not returned: until then no other is tried, so that it keeps one thread at most. */
  #isLate = false;

  /** @param calls undefined: there are no marks, and directories are watched without */
  constructor(clock: Clock, calls: MarkCalls | undefined) {
    this.#clock = clock;
    this.#calls = calls;
  }

  /**
   * Watches a directory while it is marked. It comes after the earlier ones, each of which waits for its mark for two seconds at most.
   * Where there can be no mark the watch takes as long as it does; one for which the mark has taken what was left of the system's limits
   * is tried again without it.
   *
   * @param open opens the directory, when its turn has come; undefined: it is not to be watched any more
   * @param watch sets the watch, at once. The path is good until it returns
   * @returns the milliseconds that the system took for both
   * @throws what both throw
   */
  during(open: () => number | undefined, watch: (at: string) => void): Promise<number> {
    const done = this.#last.then(() => this.#watchMarked(open, watch));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /**
   * Keeps a directory marked that is watched at present and is about to be let go for a moment.
   *
   * @returns lets the mark go; idempotent
   */
  hold(at: string): () => void {
    return this.#hold(this.#calls?.addNow(at) ?? -1);
  }

  async #watchMarked(open: () => number | undefined, watch: (at: string) => void): Promise<number> {
    const directory = open();
    if (directory === undefined) return 0;
    // The thread pool may be busy, and so may we: what is asked of it just before says from when on the mark was being made.
    const begun = new Promise<number>((resolve) => fstat(directory, () => resolve(this.#clock.mono())));
    // The very one that is marked: somebody may put another one in its place meanwhile.
    const at = `/proc/self/fd/${String(directory)}/.`;
    const mark = await this.#add(at);
    const marked = this.#clock.mono();
    const markedMs = Math.max(0, marked - (await begun));
    const since = this.#clock.mono();
    const unmark = this.#hold(mark);
    try {
      watch(at);
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      if (code !== 'ENOSPC' && code !== 'EMFILE') throw failure;
      this.#remove(mark);
      if (code === 'EMFILE') this.#end();
      watch(at);
    } finally {
      unmark();
      closeSync(directory);
    }
    return markedMs + this.#clock.mono() - since;
  }

  /** @returns its watch; below 0: there is none */
  async #add(at: string): Promise<number> {
    if (this.#calls === undefined || this.#isLate) return -1;
    const adding = this.#calls.add(at).catch(() => -1);
    const late = (): Error => new Error('a mark takes too long');
    return withDeadline(this.#clock, MARK_MS, late, () => adding).catch(() => {
      this.#isLate = true;
      void adding.then((watch) => {
        this.#isLate = false;
        this.#hold(watch)();
      });
      return -1;
    });
  }

  #hold(watch: number): () => void {
    if (watch < 0) return () => undefined;
    const mark = this.#held.get(watch) ?? { holders: 0 };
    mark.holders += 1;
    this.#held.set(watch, mark);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      mark.holders -= 1;
      if (mark.holders === 0 && this.#held.get(watch) === mark) this.#remove(watch);
    };
  }

  /** Whoever holds it. */
  #remove(watch: number): void {
    if (this.#held.delete(watch)) this.#calls?.remove(watch);
  }

  /** The process has no instance left for the runtime, which needs one for all its watches: it has ours, for good. */
  #end(): void {
    // A call that is late may not have begun: it must not meet another file of the same number.
    if (this.#isLate) return;
    this.#calls?.close();
    this.#calls = undefined;
    this.#held.clear();
  }
}

const once: { marks?: DirectoryMarks } = {};

/** The marks of this process; none without koffi, with a Linux before 6.12, or where the system has no inotify instance for us. */
export function directoryMarks(): Marks {
  once.marks ??= new DirectoryMarks(systemClock, inotifyCalls());
  return once.marks;
}

function inotifyCalls(): MarkCalls | undefined {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const isTooOld = major < FIRST_LINUX[0] || (major === FIRST_LINUX[0] && minor < FIRST_LINUX[1]);
  if (isTooOld || loadLibc() === undefined) return undefined;
  const libc = (createRequire(import.meta.url)('koffi') as typeof koffi).load(null);
  const inotify = (libc.func('int inotify_init1(int)') as (flags: number) => number)(IN_CLOEXEC);
  if (inotify < 0) return undefined;
  const add = libc.func('int inotify_add_watch(int, str, uint32_t)');
  const remove = libc.func('int inotify_rm_watch(int, int)') as (inotify: number, watch: number) => number;
  return {
    add: (at) =>
      new Promise((resolve) => {
        add.async(inotify, at, IN_ACCESS, (failure: unknown, watch: number) => resolve(failure === null ? watch : -1));
      }),
    addNow: (at) => (add as (inotify: number, at: string, mask: number) => number)(inotify, at, IN_ACCESS),
    remove: (watch) => void remove(inotify, watch),
    close: () => closeSync(inotify),
  };
}
