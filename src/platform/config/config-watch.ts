// Notices that the configuration file changed: written in place, replaced by an editor, or swapped as a ConfigMap is
// (the file is a link into `..data`, and `..data` is replaced). So the directories on its way are watched, not the file.
// A watch can lose an event, and some file systems have none: the file is also looked at now and then.
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { looksOf } from './file-looks.js';

/** Writers are given this long to finish before the file is read. */
const SETTLE_MS = 200;
/** How often the file is looked at for changes that no event told. */
const LOOK_MS = 2000;
/** The link that a kubelet replaces when a ConfigMap or Secret changes. */
const SWAPPED_LINK = '..data';

/** The parts of a watch. `onChange` is called once per burst of events, also when the content is the same in the end. */
export interface ConfigWatchParts {
  readonly file: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange: () => void;
  /** How the file looked when it was read (looksOf); every later change is noticed, however long ago it was made. */
  readonly seen: string;
}

/**
 * Watches until the returned function is called. Where events fail, changes are noticed by looking.
 *
 * @returns resolves when changes are noticed from now on
 */
export async function watchConfigFile(parts: ConfigWatchParts): Promise<() => Promise<void>> {
  const { file, clock, log, onChange } = parts;
  const { watch } = await import('chokidar');
  let watched = watchedBy(file);
  let { seen } = parts;
  let settling: Alarm | undefined;
  const watcher = watch([...watched.folders], {
    depth: 0,
    followSymlinks: false,
    atomic: false,
    ignoreInitial: true,
    persistent: false,
    ignored: (candidate) => !watched.files.has(candidate) && !watched.folders.has(candidate),
  });
  const changed = (): void => {
    settling?.cancel();
    settling = clock.alarm(SETTLE_MS, () => {
      settling = undefined;
      const before = watched.folders;
      watched = watchedBy(file);
      seen = looksOf(file);
      const added = [...watched.folders].filter((folder) => !before.has(folder));
      if (added.length > 0) watcher.add(added);
      onChange();
    });
  };
  const look = (): void => {
    if (settling === undefined && looksOf(file) !== seen) changed();
    looking = clock.alarm(LOOK_MS, look);
  };
  let looking = clock.alarm(LOOK_MS, look);
  watcher.on('all', changed);
  watcher.once('error', (error) => {
    const why = error instanceof Error ? error.message : String(error);
    log.warn('config.watch-failed', `changes of ${file} are noticed late, because it cannot be watched (${why})`);
    watcher.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve);
    watcher.once('error', () => resolve());
  });
  if (looksOf(file) !== seen) changed();
  return async () => {
    settling?.cancel();
    looking.cancel();
    await watcher.close();
  };
}

/** The file as named and as it really is, the link beside each that a kubelet swaps, and the directories of all. */
function watchedBy(file: string): { readonly files: ReadonlySet<string>; readonly folders: ReadonlySet<string> } {
  const named = path.resolve(file);
  const files = new Set([named, path.join(path.dirname(named), SWAPPED_LINK)]);
  try {
    files.add(realpathSync(named));
  } catch {
    // Gone for the moment: its directory is watched, so its return is noticed.
  }
  return { files, folders: new Set([...files].map((place) => path.dirname(place))) };
}
