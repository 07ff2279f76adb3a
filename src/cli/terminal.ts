// The terminal, or the pipe, that a command talks to.
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { Interrupted } from './exit.js';

/** The outside as commands see it. */
export interface Terminal {
  /** Writes to standard output as it is. */
  write(text: string): void;
  /** Writes one line to standard error. */
  complain(line: string): void;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Whether colours are wanted: on a terminal, without NO_COLOR (no-color.org), and not a dumb one. */
  readonly hasColours: boolean;
  /** Size of the terminal in characters; ask again, it changes. */
  size(): { readonly columns: number; readonly rows: number };
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Aborts with Interrupted on the first SIGINT or SIGTERM; a second one ends the process as it would have without us.
   * Commands that never call this are ended by the first.
   */
  interruption(): AbortSignal;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  // The reader of our output may leave: `plugin-broker events --follow | head -1`.
  stdout.on('error', (failure: NodeJS.ErrnoException) => process.exit(failure.code === 'EPIPE' ? 0 : 1));
  const isTerminal = isatty(stdout.fd);
  const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';
  const interrupted = new AbortController();
  let listening = false;
  return {
    write: (text) => void stdout.write(text),
    complain: (line) => void stderr.write(`${line}\n`),
    isTerminal,
    hasColours: isTerminal && !isSet(env['NO_COLOR']) && env['TERM'] !== 'dumb',
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    now: () => Date.now(),
    interruption: () => {
      if (!listening) {
        listening = true;
        for (const name of ['SIGINT', 'SIGTERM'] as const) {
          process.once(name, () => interrupted.abort(new Interrupted(128 + constants.signals[name])));
        }
      }
      return interrupted.signal;
    },
  };
}
