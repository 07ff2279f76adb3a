import { mkdtempSync, rmSync } from 'node:fs';

const made: string[] = [];

/**
 * A new directory under /tmp with a name short enough for socket paths below it. It is removed when the test file has
 * ended: a hook would end with the hook or test that called this, and take the directory from the others.
 *
 * @returns its path, as /tmp/b-XXXXXX
 */
export function tempDir(): string {
  if (made.length === 0) process.once('exit', removeAll);
  const folder = mkdtempSync('/tmp/b-');
  made.push(folder);
  return folder;
}

function removeAll(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
}
