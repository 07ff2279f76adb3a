// When sockets of plugins are removed at a start, as the kubelet does. Pure.
import type { WipePolicy } from '../model/settings.js';
import type { CheckpointView } from '../model/views.js';

/**
 * Whether a start removes them (docs/specification.md#restart). INVARIANT(a-start-wipes-nothing-that-serves): with a checkpoint
 * that says who serves, plugins are called back instead, unless the policy is `always`.
 *
 * @param checkpoint the checkpoint as the start found it
 */
export function wipesSockets(policy: WipePolicy, checkpoint: CheckpointView['state']): boolean {
  return policy === 'always' || (policy === 'on-cold-start' && checkpoint === 'empty');
}
