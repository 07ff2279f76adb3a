// The log on stderr through pino: one JSON object a line, or coloured lines on a terminal.
import type { Writable } from 'node:stream';
import { pino, type Logger } from 'pino';
import type { Clock } from '../../kernel/clock.js';
import { wantsColours } from '../../kernel/colours.js';
import type { Log, LogFields, LogValue } from '../../kernel/log.js';
import type { LogSettings } from '../../model/settings.js';
import { LONGEST_FIELD, LONGEST_MESSAGE, cleanText } from './clean-text.js';
import { LineSink } from './line-sink.js';

/** Items of a list that are logged; more are counted. */
const LONGEST_LIST = 32;

/** An open log. */
export interface OpenLog {
  readonly log: Log;
  /** Counts from the next line. */
  readonly setLevel: (level: LogSettings['level']) => void;
  /** Resolves when all lines are out, or after `withinMs`: for the end of the process. Never rejects. */
  readonly flush: (withinMs: number) => Promise<void>;
  /** Hands over the lines of this turn of the loop; for the `exit` of the process. */
  readonly handOver: () => void;
}

/** A stream that may be a terminal. */
export type LogStream = Writable & { readonly isTTY?: boolean };

/**
 * Opens the log. Lines are `{time, level, event, msg, …fields}`; text is escaped and cut, because plugins choose some of it.
 *
 * @param stream stderr unless a test gives another
 */
export async function openLog(
  settings: LogSettings,
  clock: Clock,
  stream: LogStream = process.stderr,
): Promise<OpenLog> {
  const isPretty = settings.format === 'pretty' || (settings.format === 'auto' && stream.isTTY === true);
  const render = isPretty
    ? await prettyLines(wantsColours(stream.isTTY === true, process.env))
    : (line: string) => line;
  const sink = new LineSink(stream, (count) =>
    render(
      `${JSON.stringify({
        level: 'warn',
        time: new Date(clock.wall()).toISOString(),
        event: 'log.lines-dropped',
        count,
        msg: `${count} log lines were dropped because stderr was not read or its disk is full`,
      })}\n`,
    ),
  );
  const logger = pino(
    {
      level: settings.level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.wall()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => sink.write(render(line)) },
  );
  return {
    log: adapt(logger, sink.handOver),
    setLevel: (level) => void (logger.level = level),
    flush: (withinMs) => sink.flush(clock, withinMs),
    handOver: sink.handOver,
  };
}

/** @param handOver called after each line that must be written even if the process ends at once */
function adapt(logger: Logger, handOver: () => void): Log {
  const at =
    (level: LogSettings['level'], isUrgent: boolean) =>
    (event: string, message: string, fields?: LogFields): void => {
      if (logger.isLevelEnabled(level)) {
        logger[level]({ event, ...clean(fields) }, cleanText(message, LONGEST_MESSAGE));
        if (isUrgent) handOver();
      }
    };
  return { error: at('error', true), warn: at('warn', true), info: at('info', false), debug: at('debug', false) };
}

function clean(fields: LogFields = {}): Record<string, LogValue> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]): [string, LogValue] => {
      if (typeof value === 'string') return [key, cleanText(value, LONGEST_FIELD)];
      return [key, Array.isArray(value) ? cleanList(value as readonly string[]) : value];
    }),
  );
}

function cleanList(items: readonly string[]): string[] {
  const shown = items.slice(0, LONGEST_LIST).map((item) => cleanText(item, LONGEST_FIELD));
  return items.length > LONGEST_LIST ? [...shown, `${items.length - LONGEST_LIST} more`] : shown;
}

/** Renders lines for people. Loaded only here: a daemon under a supervisor never needs it. */
async function prettyLines(hasColours: boolean): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  const render: (line: string) => unknown = prettyFactory({
    colorize: hasColours,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  return (line) => String(render(line));
}
