// What is wrong with a checkpoint that an operator has to see. Pure.
import type { CheckpointView } from '../model/views.js';

/**
 * What is wrong while registrations do not become durable, as a sentence; undefined while they do, also where a start found
 * less than was written: that is over, and told once.
 */
export function checkpointCondition({ state, reason }: Pick<CheckpointView, 'state' | 'reason'>): string | undefined {
  return state === 'not-writable' || state === 'newer-format' ? `the checkpoint is ${state}: ${reason}` : undefined;
}
