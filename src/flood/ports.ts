// The ports of the flood policy.
import type { Surroundings } from '../kernel/surroundings.js';
import type { UserFacts } from '../model/ids.js';
import type { EventSink } from '../model/event.js';
import type { NamesMove } from '../model/plugin.js';
import type { OpenLimiter } from './limiter.js';

/** The ports of the flood policy. */
export interface FloodPorts extends Pick<Surroundings, 'clock' | 'metrics' | 'log'>, UserFacts {
  readonly openLimiter: OpenLimiter;
  /** Gets one event for each delayed or observed call: give it a sink that summarises repeats. */
  readonly events: EventSink;
  readonly namesMove: NamesMove;
  /** `SharePorts.processorShare` (flood/list-shares). */
  readonly processorShare: number;
  /**
   * Milliseconds since the machine started, the same scale for each life of the broker in one boot: `uptimeMs`
   * (platform/time/boot).
   */
  readonly bootMs: () => number;
  /**
   * Told why newcomers are kept out (one sentence), and when they no longer are (undefined): Conditions.set (journal/conditions).
   */
  readonly crowded?: (why: string | undefined) => void;
}
