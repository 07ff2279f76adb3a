// How the build writes generated sources.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Writes a file only if its text differs, so that a build does not disturb another one in the same checkout. */
export function writeIfChanged(file, text) {
  let before;
  try {
    before = readFileSync(file, 'utf8');
  } catch {
    before = undefined;
  }
  if (before === text) return;
  mkdirSync(path.dirname(file), { recursive: true });
  // Renamed into place: another build may be reading it.
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}
