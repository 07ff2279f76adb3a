// The plugin that is judged, whether we run its command or it runs already.
import type { PluginPicture } from '../model/fault-port.js';

/** One life of a command: from its start to its end. */
export interface Life {
  readonly pid: number;
  /** Epoch milliseconds, as all times here. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Undefined while it lives. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
}

/** A plugin as the broker sees it: its process, and its socket. */
export type Registered = Pick<PluginPicture, 'pid' | 'socket' | 'incarnation'>;

/** A plugin under test, as scenarios use it. */
export interface Subject {
  /** Whether its processes are ours to start and to stop. */
  readonly isOurs: boolean;
  /** Lives that ended without being asked to, oldest first. */
  readonly ends: readonly Life[];
  /** When it was started last; undefined for one that runs already. */
  readonly startedAt: number | undefined;
  /** Why it cannot be judged at all, in one sentence: it cannot be started, or it detaches. */
  readonly problem: string | undefined;
  /** Whether its end is being looked into: it may be started again, or have detached. */
  readonly isBetweenLives: boolean;
  /** Starts it. Does nothing for one that runs already. */
  start(): void;
  /** Ends all its processes: asks them to, and kills the remaining ones after a while (milliseconds). */
  stop(kindMs?: number): Promise<void>;
  /** Kills all its processes without waiting. */
  killNow(): void;
  /**
   * Sends a signal to all its processes.
   *
   * @param registered the process and socket that serve, as the broker sees them; undefined when unknown
   * @returns whether it could be sent
   */
  signal(registered: Registered | undefined, signal: NodeJS.Signals): boolean;
  /** Bytes that it wrote. */
  readonly written: number;
  /** The end of its output. */
  output(): string;
  /** The last line it wrote, or the message of its panic; may be empty. */
  lastLine(): string;
  /** The message of a crash in its output after so many bytes (see `written`); undefined where there is none. */
  crashSince(written: number): string | undefined;
}

/** Longer last words are cut. */
const LONGEST_WORDS = 160;

/** The last line that a plugin wrote, as the end of a sentence; empty when it wrote nothing. */
export function lastWords(subject: Subject): string {
  const line = subject
    .lastLine()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  if (line === '') return '';
  return `; its last words: ${line.length > LONGEST_WORDS ? `${line.slice(0, LONGEST_WORDS)}…` : line}`;
}

/** How a life ended, as the end of a sentence: `with code 1 after 0.2 s`. */
export function endOf(life: Life): string {
  const how = life.signal === undefined ? `with code ${life.code ?? '?'}` : `by ${life.signal}`;
  return `${how} after ${seconds((life.endedAt ?? life.startedAt) - life.startedAt)}`;
}

/** A length of time for evidence: `40 ms`, `2.3 s`, `10 s`. */
export function seconds(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  return `${(ms / 1_000).toFixed(1).replace('.0', '')} s`;
}

/** A number of times in words for evidence. */
export function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`;
}
