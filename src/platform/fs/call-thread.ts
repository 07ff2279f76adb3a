// A thread that makes calls about names for the main one, which waits for each, and only for so long. A call that hangs keeps this
// thread, and the main one goes on with another.
import { closeSync, open, readSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { ifPossible } from '../../kernel/if-possible.js';

/** The calls: functions of `node:fs`, and those that read a directory. */
export type CallName =
  | 'openSync'
  | 'linkSync'
  | 'symlinkSync'
  | 'unlinkSync'
  | 'renameSync'
  | 'mkdirSync'
  | 'mkdtempSync'
  | 'rmdirSync'
  | 'readlinkSync'
  | 'realpathSync'
  | 'openFolder'
  | 'readFolder'
  | 'closeFolder';

/** An entry of a directory: its name, and 1 for a socket, 2 for a directory, 4 for a link, 0 for anything else. */
export type ReadEntry = readonly [name: string, kind: number];
/** Its value, or the failure of the system. */
export type CallAnswer =
  | { readonly value: unknown }
  | {
      readonly failure: {
        readonly message: string;
        readonly code?: string | undefined;
        readonly errno?: number | undefined;
        readonly syscall?: string | undefined;
      };
    };

/** The words: the state, the length of the text behind them, and the descriptor of what the kernel shows of the first thread. */
const STATE = 0;
const LENGTH = 1;
const STAT = 2;
const HEAD_BYTES = 12;
/** 128 names of 255 octets, each six in JSON at worst. */
const TEXT_BYTES = 256 * 1024;
const S = { beginning: 0, idle: 1, asked: 2, answered: 3, givenUp: 4, over: 5 } as const;
/** Entries of a directory that one call reads. */
export const ENTRIES_AT_ONCE = 128;
/** It takes 30 ms to begin, and nobody else can have it take longer. */
const BEGINS_IN_MS = 10_000;
/** A call takes microseconds; of one that takes longer it is asked so often why. */
const STEP_MS = 10;
/** A step that took so long was one of a busy processor. */
const LONG_STEP_MS = 3 * STEP_MS;
/** A thread that could run, and does not: a processor has nothing left for us. */
const STARVED_MS = 10_000;

/** A thread for calls. It ends by itself when a call that was given up has returned, or with the process. */
export class CallThread {
  readonly #words: Int32Array;
  readonly #text: Buffer;
  readonly #clock: () => number;
  #isBroken = false;
  /** The number of the thread, and what the kernel shows of it; undefined as long as that is not known, or not open. */
  #number: number | undefined;
  #stat: number | undefined;
  static #isLookingAtOne = false;
  static #hasOne = false;

  /** What the kernel shows of a thread is being opened, by the thread pool: where it hangs the process does not end before it. */
  static get isLookingAtOne(): boolean {
    return CallThread.#isLookingAtOne;
  }

  /** @param clock milliseconds on the monotonic scale @throws Error when the system has no room for a thread */
  constructor(clock: () => number) {
    this.#clock = clock;
    const shared = new SharedArrayBuffer(HEAD_BYTES + TEXT_BYTES);
    this.#words = new Int32Array(shared, 0, HEAD_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#text = Buffer.from(shared, HEAD_BYTES);
    const worker = new Worker(`(${serveCalls.toString()})(require)`, {
      eval: true,
      workerData: { shared, states: S, head: HEAD_BYTES, entriesAtOnce: ENTRIES_AT_ONCE, isFirst: !CallThread.#hasOne },
      name: 'names in directories',
      execArgv: [],
      // What it has opened for the main thread stays open when it ends.
      trackUnmanagedFds: false,
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 16 },
    });
    CallThread.#hasOne = true;
    worker.on('error', () => (this.#isBroken = true));
    worker.once('message', (thread: number) => {
      this.#number = thread;
      this.#open();
    });
    worker.once('exit', () => {
      const stat = this.#shown();
      this.#words[STAT] = 0;
      this.#stat = undefined;
      if (stat !== undefined) closeSync(stat);
    });
    worker.unref();
  }

  /** Whether it takes no further call: it could not begin, or a call that was given up has returned. */
  get isOver(): boolean {
    return this.#isBroken || Atomics.load(this.#words, STATE) === S.over;
  }

  /**
   * Makes a call, and waits for it.
   *
   * @param mostMs for so long where the kernel keeps the call waiting, for a lock or a disk
   * @returns its answer, undefined where it has not returned: the thread takes no other call then; and for how long the kernel
   * kept it waiting, in whole steps
   */
  call(name: CallName, args: readonly unknown[], mostMs: number): { answer: CallAnswer | undefined; keptMs: number } {
    const [words, text] = [this.#words, this.#text];
    // Another one was looked at when this began, or there was no descriptor.
    this.#open();
    if (!this.#has(S.beginning, BEGINS_IN_MS)) return { answer: undefined, keptMs: 0 };
    words[LENGTH] = text.write(JSON.stringify([name, ...args]));
    Atomics.store(words, STATE, S.asked);
    Atomics.notify(words, STATE);
    let [keptMs, starvedMs, usedBefore] = [0, 0, Infinity];
    let since = this.#clock();
    while (Atomics.wait(words, STATE, S.asked, STEP_MS) === 'timed-out' && keptMs < mostMs && starvedMs < STARVED_MS) {
      const now = this.#clock();
      const { isWaiting, used } = this.#now(now - since);
      since = now;
      if (isWaiting || used > usedBefore) keptMs += STEP_MS;
      else starvedMs += STEP_MS;
      usedBefore = used;
    }
    if (!this.#has(S.asked, 0)) return { answer: undefined, keptMs };
    const answer = JSON.parse(text.toString('utf8', 0, words[LENGTH])) as CallAnswer;
    Atomics.store(words, STATE, S.idle);
    return { answer, keptMs };
  }

  /**
   * Opens what the kernel shows of it. Anybody may hold the lock of the directory of our threads, too, so that the thread pool does it,
   * one at a time; it is tried again with each call. The first thread opens it itself: a start is one piece of work, in which nothing is
   * heard of the pool, and on a busy machine a thread that gets no processor is not to be taken for one that waits.
   */
  #open(): void {
    if (this.#shown() !== undefined || CallThread.#isLookingAtOne || this.#number === undefined) return;
    CallThread.#isLookingAtOne = true;
    open(`/proc/self/task/${String(this.#number)}/stat`, (failure, fd) => {
      CallThread.#isLookingAtOne = false;
      if (failure !== null) return;
      if (this.isOver) closeSync(fd);
      else this.#stat = fd;
    });
  }

  #shown(): number | undefined {
    const own = Atomics.load(this.#words, STAT);
    return own > 0 ? own : this.#stat;
  }

  /**
   * Whether it waits in the kernel, and how much of a processor it has used, in ticks. One that does neither is kept from a processor: that
   * is nobody's directory. Where it cannot be looked at it is taken to wait, unless we were kept from a processor ourselves.
   *
   * @param stepMs for which we waited, and meant to wait STEP_MS
   */
  #now(stepMs: number): { readonly isWaiting: boolean; readonly used: number } {
    const stat = this.#shown();
    if (stat === undefined) return { isWaiting: stepMs < LONG_STEP_MS, used: 0 };
    const text = Buffer.alloc(512);
    const status = ifPossible(() => text.toString('latin1', 0, readSync(stat, text, 0, text.length, 0))) ?? '';
    const [state = '', ...rest] = status.slice(status.lastIndexOf(')') + 2).split(' ');
    // Nothing is read of one that has ended.
    return { isWaiting: state === 'D' || state === 'S' || state === '', used: Number(rest[10]) + Number(rest[11]) };
  }

  /** Waits for the end of a state; one that has not ended by then is given up. Returns whether it has. */
  #has(state: number, ms: number): boolean {
    if (ms > 0 && Atomics.wait(this.#words, STATE, state, ms) !== 'timed-out') return true;
    return Atomics.compareExchange(this.#words, STATE, state, S.givenUp) !== state;
  }
}

/** What the thread runs: it is sent there as text, so it uses nothing of this module. */
function serveCalls(load: (name: string) => unknown): void {
  interface Folder {
    readSync(): { name: string; isSocket(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean } | null;
    closeSync(): void;
  }
  type Call = (...args: unknown[]) => unknown;
  const fs = load('node:fs') as Record<string, Call | undefined>;
  const { workerData, parentPort } = load('node:worker_threads') as {
    workerData: {
      shared: SharedArrayBuffer;
      states: typeof S;
      head: number;
      entriesAtOnce: number;
      isFirst: boolean;
    };
    parentPort: { postMessage(thread: number): void };
  };
  const { shared, states, head, entriesAtOnce, isFirst } = workerData;
  const words = new Int32Array(shared, 0, head / 4);
  const text = Buffer.from(shared, head);
  const folders = new Map<number, Folder>();
  let lastFolder = 0;
  const ofFolders: Record<string, Call | undefined> = {
    openFolder: (at, options) => {
      folders.set((lastFolder += 1), fs['opendirSync']?.(at, options) as Folder);
      return lastFolder;
    },
    readFolder: (id) => {
      const entries: [string, number][] = [];
      for (let entry; entries.length < entriesAtOnce && (entry = folders.get(Number(id))?.readSync());) {
        const kind = entry.isSocket() ? 1 : entry.isDirectory() ? 2 : entry.isSymbolicLink() ? 4 : 0;
        entries.push([entry.name, kind]);
      }
      return entries;
    },
    closeFolder: (id) => {
      folders.get(Number(id))?.closeSync();
      folders.delete(Number(id));
    },
  };
  const pathOf = (at: unknown): unknown => {
    const isOfBytes = typeof at === 'object' && at !== null && 'latin1' in at;
    return isOfBytes ? Buffer.from(String(at.latin1), 'latin1') : at;
  };
  const answerTo = (name: string, args: unknown[]): CallAnswer => {
    try {
      // What has no value is told as none: JSON leaves undefined out.
      const [first, ...others] = args;
      return { value: (ofFolders[name] ?? fs[name])?.(pathOf(first), ...others) ?? null };
    } catch (caught) {
      const { message, code, errno, syscall } = caught as NodeJS.ErrnoException;
      return { failure: { message, code, errno, syscall } };
    }
  };
  try {
    if (isFirst) Atomics.store(words, 2, Number(fs['openSync']?.('/proc/thread-self/stat', 'r')));
  } catch {
    // It is looked for with each call.
  }
  parentPort.postMessage(Number(String(fs['readlinkSync']?.('/proc/thread-self')).split('/').at(-1)));
  if (Atomics.compareExchange(words, 0, states.beginning, states.idle) !== states.beginning) {
    Atomics.store(words, 0, states.over);
    return;
  }
  Atomics.notify(words, 0);
  for (;;) {
    for (let state; (state = Atomics.load(words, 0)) !== states.asked;) Atomics.wait(words, 0, state);
    const [name, ...args] = JSON.parse(text.toString('utf8', 0, words[1])) as [string, ...unknown[]];
    const answer = answerTo(name, args);
    const json = Buffer.from(JSON.stringify(answer));
    // Nobody may write into the text once the other side has given the call up.
    if (Atomics.load(words, 0) === states.asked) {
      words[1] = json.copy(text);
      if (Atomics.compareExchange(words, 0, states.asked, states.answered) === states.asked) {
        Atomics.notify(words, 0);
        continue;
      }
    }
    // What was opened for nobody is closed.
    if (name === 'openSync' && 'value' in answer) fs['closeSync']?.(answer.value);
    for (const folder of folders.values()) folder.closeSync();
    Atomics.store(words, 0, states.over);
    return;
  }
}
