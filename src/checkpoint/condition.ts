// The condition of the checkpoint, as operators see it. Pure.
import type { CheckpointView } from '../model/views.js';

/**
 * The problem, as a sentence, while registrations do not become durable; undefined while they do, also when a start found less
 * than was written: that loss is over, and was reported once.
 */
export function checkpointCondition({ state, reason }: Pick<CheckpointView, 'state' | 'reason'>): string | undefined {
  return state === 'not-writable' || state === 'newer-format' ? `the checkpoint is ${state}: ${reason}` : undefined;
}
