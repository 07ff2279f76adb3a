// A root that a program made for a test is removed by that program; where it was killed, by the daemon that it started.
import { removeTree } from '../fs/remove-tree.js';

/** Removes a temporary root when this process ends and the one that started it has gone. @param root absolute */
export function removeWhenAbandoned(root: string): void {
  process.once('exit', () => {
    if (!process.connected) removeTree(root);
  });
}
