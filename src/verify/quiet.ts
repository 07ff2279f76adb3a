// Whether a plugin is quiet when nobody does anything to it: one that restarts itself for ever would pass by chance.
import type { PluginPicture } from '../model/fault-port.js';
import type { Changes } from './changes.js';
import { endOf, seconds, type Subject } from './subject.js';
import type { Mark, Witness } from './witness.js';

/** A plugin that nobody disturbs has to be quiet within this. */
const UNSETTLED_MS = 20_000;

/** The observed rig. */
export interface Watched {
  readonly witness: Witness;
  readonly subject: Subject;
  readonly changes: Changes;
  readonly plugins: readonly PluginPicture[];
  dippedSince(mark: Mark): string | undefined;
  served(withinMs: number): Promise<boolean>;
}

/**
 * Waits until nothing has happened by itself for a while.
 *
 * @param quietMs how long
 * @returns the activity that goes on, in one sentence, or undefined
 */
export async function whyUnsettled(rig: Watched, quietMs: number): Promise<string | undefined> {
  const untilMs = Date.now() + UNSETTLED_MS;
  const endsBefore = rig.subject.ends.length;
  let why = '';
  while (Date.now() < untilMs) {
    const [mark, ends, sockets] = [rig.witness.mark(), rig.subject.ends.length, socketsOf(rig)];
    const found = await rig.changes.until(() => {
      const end = rig.subject.ends[ends];
      if (end !== undefined) return `it ended by itself ${endOf(end)}`;
      if (socketsOf(rig) !== sockets) return 'it made another socket by itself';
      const dipped = rig.dippedSince(mark);
      return dipped === undefined ? undefined : `${dipped} had no healthy device for a while`;
    }, quietMs);
    if (found === undefined) return undefined;
    why = found;
    await rig.served(untilMs - Date.now());
  }
  // Its devices are gone because its process has ended, whichever was seen first.
  const end = rig.subject.ends.length > endsBefore ? rig.subject.ends.at(-1) : undefined;
  if (end !== undefined) why = `it ended by itself ${endOf(end)}`;
  return `${why}, again and again for ${seconds(UNSETTLED_MS)}: it has to be quiet for ${seconds(quietMs)} by itself`;
}

function socketsOf({ plugins }: Watched): string {
  return plugins
    .map(({ incarnation }) => incarnation)
    .sort()
    .join();
}
