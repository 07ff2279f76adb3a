// Log lines as the original writes them, because that is what the log pipelines of clusters parse: klog's text with its
// header, or one JSON object a line.
import { visibleInJson } from '../kernel/visible.js';

/** Facts of a line. */
export type LogFacts = Readonly<Record<string, string | number | boolean>>;

/** How lines look and which are written. */
export interface RegistrarLogOptions {
  readonly format: 'text' | 'json';
  /** Informational lines above this level are dropped. */
  readonly verbosity: number;
  readonly pid: number;
  /** Takes a line with its end. */
  readonly write: (line: string) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Stands where klog has file and line. */
const SOURCE = 'registrar:0';

/** Writes log lines. */
export class RegistrarLog {
  readonly #options: RegistrarLogOptions;

  constructor(options: RegistrarLogOptions) {
    this.#options = options;
  }

  /** Logs an event. `level` is klog's verbosity, 0 is always written. */
  info(level: number, message: string, facts: LogFacts = {}): void {
    if (level <= this.#options.verbosity) this.#line('I', level, message, facts);
  }

  /** Logs something that should be changed. */
  warning(message: string, facts: LogFacts = {}): void {
    this.#line('W', 0, message, facts);
  }

  /** Logs a failure. */
  error(message: string, facts: LogFacts = {}): void {
    this.#line('E', 0, message, facts);
  }

  #line(severity: 'I' | 'W' | 'E', level: number, message: string, facts: LogFacts): void {
    const { format, write, now } = this.#options;
    const at = now();
    const line =
      format === 'json' ? this.#json(severity, level, message, facts, at) : this.#text(severity, message, facts, at);
    write(visibleInJson(line)); // klog's text has its strings quoted as JSON
  }

  #text(severity: string, message: string, facts: LogFacts, at: number): string {
    const time = new Date(at);
    const two = (number: number): string => String(number).padStart(2, '0');
    const day = `${two(time.getMonth() + 1)}${two(time.getDate())}`;
    const micros = String(Math.floor((at % 1000) * 1000)).padStart(6, '0');
    const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${micros}`;
    const pairs = Object.entries(facts).map(([key, value]) => {
      return ` ${key}=${typeof value === 'string' ? JSON.stringify(value) : String(value)}`;
    });
    const pid = String(this.#options.pid).padStart(7);
    return `${severity}${day} ${clock} ${pid} ${SOURCE}] ${JSON.stringify(message)}${pairs.join('')}\n`;
  }

  #json(severity: string, level: number, message: string, facts: LogFacts, at: number): string {
    const rank = severity === 'I' ? { v: level } : severity === 'W' ? { v: 0, severity: 'warning' } : {};
    return `${JSON.stringify({ ts: at, caller: SOURCE, msg: message, ...rank, ...facts })}\n`;
  }
}
