// Files of a simulated kubelet in directories where others may put links and FIFOs under the same names.
import { closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inDirectory } from '../../platform/fs/pinned-directory.js';

const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const WARY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Writes a file anew, in the place of whatever has its name.
 *
 * @param isDurable it is on the disk when this returns
 * @throws NodeJS.ErrnoException when it cannot be written, also where another user has put something in its way
 */
export function writeAnew(file: string, text: string, isDurable: boolean): void {
  const name = path.basename(file);
  const fresh = `${name}.new`;
  inDirectory(path.dirname(file), (directory) => {
    directory.unlink(fresh);
    const descriptor = openSync(directory.at(fresh), FRESH, 0o600);
    try {
      writeFileSync(descriptor, text);
      if (isDurable) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    directory.rename(fresh, name);
  });
}

/** The text of a regular file. @throws NodeJS.ErrnoException; Error for anything else of that name */
export function textOf(file: string): string {
  return inDirectory(path.dirname(file), (directory) => {
    const descriptor = openSync(directory.at(path.basename(file)), WARY);
    try {
      if (!fstatSync(descriptor).isFile()) throw new Error(`${file} is no file`);
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  });
}
