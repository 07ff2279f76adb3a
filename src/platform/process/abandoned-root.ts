// A root that a program made for a test is removed by that program; where it was killed, by the daemon that it started.
import { rmSync } from 'node:fs';

/** Removes a temporary root when this process ends and the one that started it has gone. @param root absolute */
export function removeWhenAbandoned(root: string): void {
  process.once('exit', () => {
    if (!process.connected) rmSync(root, { recursive: true, force: true });
  });
}
