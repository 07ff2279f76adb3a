// Reads checkpoints for the command line: wires the checkpoint stage to the file system, loaded only when needed.
import type { CheckpointReader } from './model/checkpoint-inspection.js';

/** Reads a checkpoint file and looks at the device lists beside it. */
export const readCheckpoint: CheckpointReader = async (file) => {
  const [{ inspectCheckpoint }, { nodeFiles }] = await Promise.all([
    import('./checkpoint/inspect.js'),
    import('./platform/store/node-files.js'),
  ]);
  return inspectCheckpoint(nodeFiles, file);
};
