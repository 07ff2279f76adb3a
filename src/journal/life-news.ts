// The events of the broker's own life: it started, the plugins of the checkpoint were heard of, it stops.
import type { Surroundings } from '../kernel/surroundings.js';
import type { Journal } from './journal.js';

/** The ports of these events. */
export interface LifeNewsPorts extends Pick<Surroundings, 'clock' | 'log'> {
  readonly journal: Journal;
  readonly version: string;
  readonly pid: number;
}

/** Tells, by log and events. */
export class LifeNews {
  readonly #ports: LifeNewsPorts;
  readonly #startedMono: number;

  constructor(ports: LifeNewsPorts) {
    this.#ports = ports;
    this.#startedMono = ports.clock.mono();
  }

  /** Seconds since the start of the broker. */
  get seconds(): number {
    return (this.#ports.clock.mono() - this.#startedMono) / 1000;
  }

  /** Everything is open. */
  started(root: string, isRebooted: boolean, restored: number): void {
    const { log, journal, version, pid } = this.#ports;
    log.info('broker.started', `plugin-broker ${version} serves ${root}`, { pid });
    journal.record({
      type: 'broker',
      message: `plugin-broker ${version} started with pid ${String(pid)}`,
      facts: { start: isRebooted ? 'rebooted' : journal.before, restored },
    });
  }

  /** The plugins of the checkpoint were heard of: those that answered, and those that are restarting themselves. */
  restored(confirmed: number, settling: number, total: number): void {
    if (total === 0) return;
    const { log, journal } = this.#ports;
    const away = settling === 0 ? '' : `, ${String(settling)} are restarting themselves`;
    const message = `${String(confirmed)} of ${String(total)} plugins of the checkpoint are confirmed after ${this.seconds.toFixed(2)} s${away}`;
    log.info('broker.restored', message);
    const facts = { settled: Math.round(this.seconds * 1000), confirmed, settling, total };
    journal.record({ type: 'broker', message, facts });
  }

  /** Ordinary users may move everybody's names in a directory. @param message says so; undefined: they may not */
  movable(message: string | undefined): void {
    if (message === undefined) return;
    this.#ports.log.warn('discovery.movable-names', message);
    this.#ports.journal.record({ type: 'discovery', message });
  }

  /** It stops. */
  stopping(why: string): void {
    const { log, journal } = this.#ports;
    log.info('broker.stopping', `the broker is stopping: ${why}`);
    journal.record({ type: 'broker', message: `the broker is stopping: ${why}` });
  }
}
