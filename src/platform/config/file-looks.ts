import { statSync } from 'node:fs';

/** How a file looks from outside: differs when it was written or replaced; links are followed. Never throws. */
export function looksOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs].join(':');
  } catch (failure) {
    return String((failure as NodeJS.ErrnoException).code);
  }
}
