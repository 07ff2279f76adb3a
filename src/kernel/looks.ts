// Looks at paths, or at the entries of directories, a little at a time: a user that fills a directory, or makes and removes
// thousands of files in it, must not hold up everything else for as long as it takes to look at all of them.
import type { Alarm, Clock } from './clock.js';
import { Pace } from './pace.js';

/** Time spent on looks before everything else has a turn, milliseconds. */
const SLICE_MS = 3;
/** Looking that is done as fast as it can: a hundred plugins that appear at once. More than that takes this share of the time. */
const BURST_MS = 60;
const SHARE = 0.2;
/** Between two slices while looking is slowed down. */
const SLOWED_MS = 10;
/** The longest wait for time that looks took beyond their share: one look at a disk that hangs does not stop all others. */
const MOST_DEBT_MS = 100;
/** Within this a look belongs to the turn of the one before. */
const SAME_TURN_MS = 1;
/** Paths of one group that wait; the rescan finds the others. */
const MOST_WAITING = 4096;

/** The group of paths that a look at everything reaches. */
const ALL = '';

/** The ports of looks. */
export interface LooksPorts {
  readonly clock: Clock;
  /** Looks; `isHint`: something was said of this very path. */
  readonly look: (path: string, isHint: boolean) => void;
  /** The group of a path: groups take turns. Not empty. */
  readonly groupOf: (path: string) => string;
  /** The group that waits for no other. */
  readonly first?: string;
}

/** The waiting paths of one group. Events and directories take turns. */
interface Queue {
  readonly paths: Set<string>;
  /** By directory, the rest of its entries: read as they are looked at, since there may be any number of them. */
  readonly directories: Map<string, Iterator<string | undefined>>;
  isDirectoryNext: boolean;
}

/** Paths that are to be looked at. */
export class Looks {
  readonly #ports: LooksPorts;
  /** By group, in the order in which they take turns. */
  readonly #waiting = new Map<string, Queue>();
  #allDone: (() => void) | undefined;
  #later: Alarm | undefined;
  #isRunning = false;
  readonly #pace = new Pace(BURST_MS / SHARE, MOST_DEBT_MS / SHARE);
  #sliceMs = 0;
  #endedAt = -Infinity;

  constructor(ports: LooksPorts) {
    this.#ports = ports;
  }

  /** Looks at a path of which something was said: now, where there is time. */
  at(path: string): void {
    const { paths } = this.#queueOf(this.#ports.groupOf(path));
    if (paths.size < MOST_WAITING) paths.add(path);
    this.#begin();
  }

  /**
   * Looks at each entry of a directory as if an event had named it. Asked for anew, it begins anew.
   *
   * @param entries paths; undefined where an entry is nothing to look at
   */
  in(directory: string, entries: Iterable<string | undefined>): void {
    const { directories } = this.#queueOf(this.#ports.groupOf(directory));
    directories.get(directory)?.return?.();
    directories.set(directory, entries[Symbol.iterator]());
    this.#begin();
  }

  /** Whether all paths are being looked at. */
  get isLookingAtAll(): boolean {
    return this.#allDone !== undefined;
  }

  /**
   * Looks at all of these, in their order, and says when that is done. Not while it is being done.
   *
   * @param paths taken one by one, as they are looked at; undefined where there is nothing to look at
   */
  atAll(paths: Iterable<string | undefined>, done: () => void): void {
    this.#allDone = done;
    this.#queueOf(ALL).directories.set(ALL, paths[Symbol.iterator]());
    this.#begin();
  }

  /** Forgets waiting paths. */
  stop(): void {
    this.#later?.cancel();
    this.#later = undefined;
    for (const { directories } of this.#waiting.values()) for (const left of directories.values()) left.return?.();
    this.#waiting.clear();
    this.#allDone = undefined;
  }

  #begin(): void {
    if (this.#later === undefined && !this.#isRunning) this.#run();
  }

  #run(): void {
    const { clock } = this.#ports;
    const begun = clock.mono();
    if (begun - this.#endedAt > SAME_TURN_MS) this.#sliceMs = 0;
    const mayLook = this.#pace.waitMs(0, begun) === 0;
    this.#isRunning = true;
    let now = begun;
    while (mayLook && this.#waiting.size > 0 && this.#sliceMs + now - begun < SLICE_MS) {
      this.#lookAtNext();
      now = clock.mono();
    }
    this.#isRunning = false;
    this.#sliceMs += now - begun;
    this.#pace.book((now - begun) / SHARE, now);
    this.#endedAt = now;
    if (this.#waiting.size === 0) return;
    const waitMs = this.#pace.waitMs(0, now);
    this.#later = clock.alarm(waitMs > 0 ? Math.max(SLOWED_MS, Math.ceil(waitMs)) : 0, () => {
      this.#later = undefined;
      this.#sliceMs = 0;
      this.#run();
    });
  }

  /** One path of the group whose turn it is, which comes after the others then. */
  #lookAtNext(): void {
    const { first } = this.#ports;
    const isFirst = first !== undefined && this.#waiting.has(first);
    const group = isFirst ? first : this.#waiting.keys().next().value;
    const queue = group === undefined ? undefined : this.#waiting.get(group);
    if (group === undefined || queue === undefined) return;
    this.#waiting.delete(group);
    const path = nextOf(queue);
    const isOver = queue.paths.size + queue.directories.size === 0;
    if (!isOver) this.#waiting.set(group, queue);
    if (path !== undefined) this.#ports.look(path, group !== ALL);
    if (group !== ALL || !isOver) return;
    const done = this.#allDone;
    this.#allDone = undefined;
    done?.();
  }

  #queueOf(group: string): Queue {
    const known = this.#waiting.get(group);
    if (known !== undefined) return known;
    const queue: Queue = { paths: new Set(), directories: new Map(), isDirectoryNext: false };
    this.#waiting.set(group, queue);
    return queue;
  }
}

/** Takes the next path; undefined: there was nothing to look at this time. */
function nextOf(queue: Queue): string | undefined {
  const { paths, directories } = queue;
  const [directory] = directories;
  const isDirectory = directory !== undefined && (paths.size === 0 || queue.isDirectoryNext);
  queue.isDirectoryNext = !isDirectory;
  if (isDirectory) {
    const next = directory[1].next();
    if (next.done !== true) return next.value;
    directories.delete(directory[0]);
    return undefined;
  }
  const [path] = paths;
  if (path !== undefined) paths.delete(path);
  return path;
}
