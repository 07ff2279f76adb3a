// Begins and ends quarantines: tells them, and rings when one is over.
import type { Alarm } from '../kernel/clock.js';
import type { Listeners } from '../kernel/listeners.js';
import type { Bucket } from './bucket.js';
import { quarantineLeftMs } from './penalty.js';
import type { FloodPorts } from './ports.js';
import { quarantineBeganSentence, seconds } from './sentences.js';
import type { FloodListener, Quarantine } from '../model/flood.js';

/** Strikes come one by one and are told together, so that a flood does not move to the disk. */
const TELL_STRIKES_MS = 1_000;

/** The ports of quarantines. */
export type QuarantinesPorts = Pick<FloodPorts, 'clock' | 'events' | 'log'>;

/** The quarantines that run now; one alarm each. */
export class Quarantines {
  readonly #ports: QuarantinesPorts;
  readonly #listeners: Listeners<FloodListener>;
  readonly #running = new Map<Bucket, Alarm>();
  /** Plugins that were refused for their pace, and are called back when a permit is there. */
  readonly #refused = new Map<Bucket, Alarm>();
  #strikesToTell: Alarm | undefined;

  /** @param listeners told of each beginning and end */
  constructor(ports: QuarantinesPorts, listeners: Listeners<FloodListener>) {
    this.#ports = ports;
    this.#listeners = listeners;
  }

  /** How many run. */
  get size(): number {
    return this.#running.size;
  }

  /** A bucket got a strike. */
  struck(): void {
    this.#strikesToTell ??= this.#ports.clock.alarm(TELL_STRIKES_MS, () => {
      this.#strikesToTell = undefined;
      this.#listeners.tell((listener) => listener.penaltiesChanged?.());
    });
  }

  /** A quarantine of `lengthMs` began for a bucket. */
  began(bucket: Bucket, lengthMs: number): void {
    const { events, log } = this.#ports;
    const sentence = quarantineBeganSentence(bucket.who, bucket.is, bucket.policy.penalty, lengthMs);
    const pardon = bucket.kind === 'plugin' ? `; \`plugin-broker pardon ${bucket.name}\` lifts it` : '';
    const message = `${sentence}${pardon}`;
    events.record({ type: 'quarantine', reason: 'QUARANTINED', ...aboutOf(bucket), message });
    log.warn('flood.quarantine-began', message, { plugin: bucket.plugin, uid: bucket.uid });
    this.#follow(bucket);
    if (bucket.kind === 'plugin')
      this.#listeners.tell((listener) => listener.quarantineBegan?.(quarantineOf(bucket, lengthMs)));
    this.#changed();
  }

  /**
   * A registration was refused for its pace, and brought no quarantine: a plugin that never calls again is not lost by less
   * than a quarantine.
   */
  callBack(bucket: Bucket, inMs: number): void {
    if (bucket.kind !== 'plugin' || this.#refused.has(bucket)) return;
    const alarm = this.#ports.clock.alarm(inMs, () => {
      this.#refused.delete(bucket);
      this.#listeners.tell((listener) => listener.quarantineEnded?.(quarantineOf(bucket, 0)));
    });
    this.#refused.set(bucket, alarm);
  }

  /** A quarantine of an earlier life of the broker goes on for `leftMs`. */
  goesOn(bucket: Bucket, leftMs: number): void {
    const message = `${bucket.who} ${bucket.is} kept out for another ${seconds(leftMs)}: a restart of the broker is no amnesty`;
    this.#ports.events.record({ type: 'quarantine', reason: 'QUARANTINED', ...aboutOf(bucket), message });
    this.#follow(bucket);
    this.#listeners.tell((listener) => listener.quarantineBegan?.(quarantineOf(bucket, leftMs)));
  }

  /** The mode is `observe`: reports the quarantine that would have begun, once for as long as it would have lasted. */
  wouldBegin(bucket: Bucket, lengthMs: number): void {
    const nowMs = this.#ports.clock.mono();
    if (nowMs < bucket.wouldBeOutUntilMs) return;
    bucket.wouldBeOutUntilMs = nowMs + lengthMs;
    const sentence = quarantineBeganSentence(bucket.who, 'would be', bucket.policy.penalty, lengthMs);
    const message = `${sentence}, if ${bucket.source}.mode were enforce`;
    this.#ports.events.record({ type: 'quarantine', reason: 'QUARANTINED', ...aboutOf(bucket), message });
    this.#ports.log.warn('flood.quarantine-observed', message, { plugin: bucket.plugin, uid: bucket.uid });
  }

  /** Waits for the end of a quarantine that runs. */
  #follow(bucket: Bucket): void {
    const { clock } = this.#ports;
    const leftMs = quarantineLeftMs(bucket.penalty(clock.mono()), clock.mono());
    this.#running.get(bucket)?.cancel();
    // It is called back when its quarantine is over, and not in the middle of it.
    this.#refused.get(bucket)?.cancel();
    this.#refused.delete(bucket);
    this.#running.set(
      bucket,
      clock.alarm(leftMs, () => {
        // An alarm may ring early: it holds no more than some weeks, and a timer counts in whole milliseconds.
        if (quarantineLeftMs(bucket.penalty(clock.mono()), clock.mono()) > 0) this.#follow(bucket);
        else this.ended(bucket, 'is over');
      }),
    );
  }

  /** A quarantine ended before its time, or now. Nothing happens if none ran. */
  ended(bucket: Bucket, how: string): void {
    const alarm = this.#running.get(bucket);
    if (alarm === undefined) return;
    alarm.cancel();
    this.#running.delete(bucket);
    const pulled = bucket.kind === 'plugin' ? '; the broker calls it back' : '';
    const message = `the quarantine of ${bucket.who} ${how}${pulled}`;
    this.#ports.events.record({ type: 'quarantine', ...aboutOf(bucket), message });
    this.#ports.log.info('flood.quarantine-ended', message, { plugin: bucket.plugin, uid: bucket.uid });
    if (bucket.kind === 'plugin')
      this.#listeners.tell((listener) => listener.quarantineEnded?.(quarantineOf(bucket, 0)));
    this.#changed();
  }

  #changed(): void {
    this.#strikesToTell?.cancel();
    this.#strikesToTell = undefined;
    this.#listeners.tell((listener) => listener.penaltiesChanged?.());
  }

  /** Stops all alarms; nothing more is told. */
  close(): void {
    for (const alarm of [...this.#running.values(), ...this.#refused.values()]) alarm.cancel();
    this.#running.clear();
    this.#strikesToTell?.cancel();
  }
}

function quarantineOf(bucket: Bucket, lengthMs: number): Quarantine {
  const { type, name, uid, offenders, last } = bucket;
  return { type, name, uid, lengthMs, offenders, last };
}

function aboutOf(bucket: Bucket): {
  readonly plugin: string;
  readonly uid: number | undefined;
  readonly socket: string;
} {
  return { plugin: bucket.plugin, uid: bucket.uid, socket: bucket.last?.socket ?? '' };
}
