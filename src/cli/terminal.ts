// The terminal, or the pipe, that a command talks to.
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { wantsColours } from '../kernel/colours.js';
import { Interrupted } from './exit.js';

/** The size of a terminal that does not know its own, in characters. */
const [COLUMNS, ROWS] = [80, 24];

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
   * Aborts with Interrupted on the first SIGINT, SIGTERM or SIGHUP (its terminal was closed), and when nobody reads standard output
   * any more; a second signal of a kind ends the process as it would have without us.
   * Commands that never call this are ended by the first.
   */
  interruption(): AbortSignal;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  const interrupted = new AbortController();
  let listening = false;
  // The reader of our output may leave: `plugin-broker events --follow | head -1`. A command that can be interrupted cleans up.
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') {
      if (!listening) process.exit(0);
      interrupted.abort(new Interrupted(128 + constants.signals.SIGPIPE));
      return;
    }
    stderr.write(`plugin-broker: standard output cannot be written: ${message}\n`);
    process.exit(1);
  });
  // A terminal that was closed must not end `run`, and its job with it.
  stderr.on('error', () => undefined);
  const isTerminal = isatty(stdout.fd);
  return {
    write: (text) => void stdout.write(text),
    complain: (line) => void stderr.write(`${line}\n`),
    isTerminal,
    hasColours: wantsColours(isTerminal, env),
    // Some terminals, such as serial ones, say that they have no size.
    size: () => ({
      columns: stdout.columns > 0 ? stdout.columns : COLUMNS,
      rows: stdout.rows > 0 ? stdout.rows : ROWS,
    }),
    now: () => Date.now(),
    interruption: () => {
      if (!listening) {
        listening = true;
        for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
          process.once(name, () => interrupted.abort(new Interrupted(128 + constants.signals[name])));
        }
      }
      return interrupted.signal;
    },
  };
}
