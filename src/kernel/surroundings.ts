// The ports of every larger part of the program.
import type { Clock } from './clock.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { Random } from './random.js';

/** Time, chance, and where things are told and counted. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}
