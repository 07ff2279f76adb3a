// Tells systemd our state (sd_notify(3)): ready, busy with which step, still alive, stopping. Node has no unix datagrams: koffi
// sends them, else the program systemd-notify, else nobody does and one warning says so.
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { BrokerView } from '../../model/views.js';
import { cleanText } from '../log/clean-text.js';
import type { Libc } from '../peer/libc.js';

/** Longest status line that is sent. */
const LONGEST_STATUS = 512;
/** The program may take this long. */
const PROGRAM_TIMEOUT_MS = 5000;

/** The notifications to systemd. Nothing here throws or waits; without systemd nothing happens. */
export interface Notifier {
  /** Serving. Starts the watchdog's beat where systemd asks for one. */
  ready(status: string): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** Stopping: the beat goes on, because stopping may take as long as the watchdog allows. */
  stopping(): void;
  /** Ends the beat. */
  close(): void;
}

/** The ports of a notifier. */
export interface NotifierParts {
  readonly env: NodeJS.ProcessEnv;
  readonly pid: number;
  readonly clock: Clock;
  readonly log: Log;
  /** The system calls, asked for with the first message; undefined where koffi is missing. */
  readonly libc: () => Libc | undefined;
}

/** A notifier for the environment of this process; one that does nothing where systemd did not start it. */
export function openNotifier(parts: NotifierParts): Notifier {
  const address = parts.env['NOTIFY_SOCKET'];
  const isUsable = address !== undefined && /^[/@]./.test(address);
  return isUsable ? new SystemdNotifier(address, parts) : silentNotifier;
}

const silentNotifier: Notifier = {
  ready: () => undefined,
  status: () => undefined,
  stopping: () => undefined,
  close: () => undefined,
};

/** Half the time after which systemd counts us as dead (sd_watchdog_enabled(3)), or undefined where it does not ask. */
export function watchdogBeatMs(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const isOurs = env['WATCHDOG_PID'] === undefined || Number(env['WATCHDOG_PID']) === pid;
  const microseconds = Number(env['WATCHDOG_USEC']);
  return isOurs && microseconds > 0 ? Math.max(1, Math.floor(microseconds / 2000)) : undefined;
}

class SystemdNotifier implements Notifier {
  readonly #address: string;
  readonly #parts: NotifierParts;
  #beat: Alarm | undefined;
  #isWarned = false;

  constructor(address: string, parts: NotifierParts) {
    this.#address = address;
    this.#parts = parts;
  }

  ready(status: string): void {
    this.#send(['READY=1', statusLine(status)]);
    this.#startBeat();
  }

  status(text: string): void {
    this.#send([statusLine(text)]);
  }

  stopping(): void {
    this.#send(['STOPPING=1', statusLine('stopping')]);
  }

  close(): void {
    this.#beat?.cancel();
  }

  #startBeat(): void {
    const everyMs = watchdogBeatMs(this.#parts.env, this.#parts.pid);
    if (everyMs === undefined || this.#beat !== undefined) return;
    const beat = (): void => {
      this.#send(['WATCHDOG=1']);
      this.#beat = this.#parts.clock.alarm(everyMs, beat);
    };
    beat();
  }

  #send(lines: readonly string[]): void {
    const libc = this.#parts.libc();
    if (libc === undefined) {
      this.#runProgram(lines);
      return;
    }
    const failed = libc.sendDatagram(this.#address, `${lines.join('\n')}\n`);
    if (failed !== undefined) this.#warn(`sending to ${this.#address} failed with ${failed.error}`);
  }

  #runProgram(lines: readonly string[]): void {
    const args = [`--pid=${this.#parts.pid}`, ...lines];
    // Seldom needed, and a start is to be fast.
    void import('node:child_process').then(({ execFile }) => {
      execFile('systemd-notify', args, { env: this.#parts.env, timeout: PROGRAM_TIMEOUT_MS }, (failure) => {
        if (failure !== null)
          this.#warn(`koffi is not installed and systemd-notify failed (${failure.message.trim()})`);
      });
    });
  }

  #warn(why: string): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    this.#parts.log.warn(
      'systemd.not-told',
      `systemd cannot be told how the broker is, because ${why}; set Type=simple and no WatchdogSec, or repair it`,
    );
  }
}

function statusLine(text: string): string {
  return `STATUS=${cleanText(text, LONGEST_STATUS)}`;
}

/** Tells systemd each phase once, and the degraded parts. */
export function tellSystemd(notifier: Notifier): (view: BrokerView) => void {
  let isReady = false;
  let said = '';
  return ({ phase, problems }) => {
    const line = problems.length > 0 ? `${phase}: ${problems.join('; ')}` : phase;
    if (phase === 'stopping') notifier.stopping();
    if (!isReady && (phase === 'ready' || phase === 'degraded')) {
      isReady = true;
      notifier.ready(line);
    } else if (line !== said) {
      notifier.status(line);
    }
    said = line;
  };
}
