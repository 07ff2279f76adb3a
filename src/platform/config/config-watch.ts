// Notices that the configuration file changed: written in place, replaced by an editor, or swapped as a ConfigMap is
// (the file is a link into `..data`, and `..data` is replaced). So the directories on its way are watched, not the file.
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';

/** Writers are given this long to finish before the file is read. */
const SETTLE_MS = 200;
/** The link that a kubelet replaces when a ConfigMap or Secret changes. */
const SWAPPED_LINK = '..data';

/** What a watch needs. `onChange` is called once per burst of events, also when the content is the same in the end. */
export interface ConfigWatchParts {
  readonly file: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange: () => void;
}

/**
 * Watches until the returned function is called. A watch that fails is reported once; SIGHUP still works.
 *
 * @returns resolves when changes are noticed from now on
 */
export async function watchConfigFile({ file, clock, log, onChange }: ConfigWatchParts): Promise<() => Promise<void>> {
  const { watch } = await import('chokidar');
  const interesting = (): Set<string> => new Set([...placesOf(file)].flatMap((place) => [place, path.dirname(place)]));
  let places = interesting();
  let alarm: Alarm | undefined;
  let hasFailed = false;
  const watcher = watch([...directoriesOf(places)], {
    depth: 0,
    followSymlinks: false,
    atomic: false,
    ignoreInitial: true,
    persistent: false,
    ignored: (candidate) => !places.has(path.resolve(candidate)),
  });
  watcher.on('all', () => {
    alarm?.cancel();
    alarm = clock.alarm(SETTLE_MS, () => {
      places = interesting();
      watcher.add([...directoriesOf(places)]);
      onChange();
    });
  });
  watcher.on('error', (error) => {
    if (hasFailed) return;
    hasFailed = true;
    const why = error instanceof Error ? error.message : String(error);
    log.warn('config.watch-failed', `changes of ${file} may not be noticed (${why}); send SIGHUP after a change`, {
      file,
    });
  });
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve);
    watcher.once('error', () => resolve());
  });
  return async () => {
    alarm?.cancel();
    await watcher.close();
  };
}

/** The file as named and as it really is, and the link beside each that a kubelet swaps. */
function placesOf(file: string): Set<string> {
  const named = path.resolve(file);
  const places = new Set([named, path.join(path.dirname(named), SWAPPED_LINK)]);
  try {
    places.add(realpathSync(named));
  } catch {
    // Gone for the moment: its directory is watched, so its return is noticed.
  }
  return places;
}

function directoriesOf(places: ReadonlySet<string>): Set<string> {
  return new Set([...places].map((place) => path.dirname(place)).filter((folder) => places.has(folder)));
}
