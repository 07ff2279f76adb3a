import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { after } from 'node:test';

/**
 * A new directory under /tmp with a name short enough for socket paths below it. Called inside a test or a suite, it is
 * removed when that has ended.
 *
 * @returns its path, as /tmp/b-XXXXXX
 */
export function tempDir(): string {
  const folder = mkdtempSync('/tmp/b-');
  after(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return folder;
}
