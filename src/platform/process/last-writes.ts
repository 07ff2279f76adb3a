// koffi writes standard output and error out to their disk (fsync) when the process ends, for as long as that disk takes; where it fails
// it waits for ever, and no signal but SIGKILL is heard any more.
import { fstatSync, openSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';
import { loadedLibc } from '../peer/libc.js';

const STANDARD_STREAMS = [1, 2];

/**
 * Has standard output and error lead to /dev/null when the process ends, where they are files. What was written stays where it is;
 * listeners of the end that come later write nothing. Call it once, when those that write are there.
 */
export function neverWriteOut(): void {
  process.once('exit', () => {
    const libc = loadedLibc();
    const files = STANDARD_STREAMS.filter((fd) => ifPossible(() => fstatSync(fd).isFile()) === true);
    if (libc === undefined || files.length === 0) return;
    const nowhere = ifPossible(() => openSync('/dev/null', 'r'));
    if (nowhere !== undefined) for (const fd of files) libc.duplicate(nowhere, fd);
  });
}
