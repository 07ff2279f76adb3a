import type { Contents, Draft } from '../../src/checkpoint/draft.js';
import { entryKey } from '../../src/checkpoint/document.js';
import { FakeClock } from './fake-clock.js';
import type { FakeDisk } from './fake-disk.js';
import { checkpointRig, facts, list } from './checkpoint-rig.js';

/** Where the checkpoint is on the fake disk. */
export const STATE = '/broker/state';

const gpu = facts('vendor.com/gpu');
const nic = facts('vendor.com/nic', 2);
const fpga = facts('vendor.com/fpga', 3);

/** The life of a broker, as changes: registrations at once and one by one, lists of both kinds, farewells. */
const STORY: readonly (readonly ((draft: Draft) => void)[])[] = [
  [(draft) => draft.put(gpu)],
  [(draft) => draft.setList(entryKey(gpu), list(100, 1))],
  [(draft) => draft.put(nic), (draft) => draft.put(fpga), (draft) => draft.setList(entryKey(nic), list(5000, 2))],
  [(draft) => draft.setList(entryKey(nic), list(6000, 3))],
  [
    (draft) => draft.setLimits(() => [{ plugin: gpu.name, strikes: 3 }]),
    (draft) => draft.change(entryKey(gpu), { facts: { nodeId: 'n' } }),
  ],
  [(draft) => draft.setList(entryKey(nic), list(5000, 2)), (draft) => draft.setList(entryKey(fpga), list(7000, 4))],
  [(draft) => draft.remove(entryKey(fpga))],
  [(draft) => draft.addTombstone({ type: nic.type, name: nic.name, incarnation: nic.socket, time: 't' })],
  [(draft) => draft.change(entryKey(gpu), { primary: false })],
];

/** The last lists of the plugins that are left at the end of the story. */
export const LISTS_AT_THE_END = { 'vendor.com/gpu': list(100, 1).sha256, 'vendor.com/nic': list(5000, 2).sha256 };

/** The record of a story. */
export interface Told {
  /** The contents after each change, in order; the first is what was found at the start. */
  readonly chapters: readonly string[];
  /** Index of the newest chapter of which the store said that it is durable. */
  readonly acknowledged: number;
}

/** The hash of the last list of each plugin, by name. */
export function listsOf(contents: Contents): Record<string, string | undefined> {
  return Object.fromEntries([...contents.plugins.values()].map((entry) => [entry.name, entry.list?.sha256]));
}

/**
 * Contents as one string that can be compared: members in the order of their names. Without large device lists, which
 * follow the change that brought them.
 */
export function spell(contents: Contents): string {
  const plugins = [...contents.plugins.values()].map(({ list: last, ...entry }) =>
    last?.inline === undefined ? entry : { ...entry, list: last },
  );
  return JSON.stringify([plugins, contents.limits, [...contents.tombstones.values()]], (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Waits for a promise while the clock goes on. */
export async function drive<T>(clock: FakeClock, work: Promise<T>, stepMs = 2): Promise<T> {
  const progress = { isDone: false };
  const done = (): void => void (progress.isDone = true);
  work.then(done, done);
  await clock.settle();
  for (let step = 0; !progress.isDone; step += 1) {
    if (step > 20_000) throw new Error('it never settles');
    await clock.advance(stepMs);
  }
  return work;
}

/** Opens a store on the disk, lives the story and is killed. Nothing that happens to the disk makes it reject. */
export async function tell(disk: FakeDisk, clock = new FakeClock(), stepMs = 2): Promise<Told> {
  const { store } = checkpointRig(disk, STATE, clock);
  await drive(clock, store.open(), stepMs);
  const chapters = [spell(store.contents)];
  let acknowledged = 0;
  for (const [nth, changes] of STORY.entries()) {
    // As before a registration; every other one of those that were expected does not come at once.
    if (nth % 2 === 0) store.expect();
    if (nth % 4 === 0) await drive(clock, clock.settle(), stepMs);
    const fates = changes.map(async (change) => {
      const saved = store.update(change);
      chapters.push(spell(store.contents));
      const chapter = chapters.length - 1;
      if ((await saved) === 'durable') acknowledged = Math.max(acknowledged, chapter);
    });
    await drive(clock, Promise.all(fates), stepMs);
  }
  // Time to make good what failed and to sweep; then the process dies without a word.
  await clock.advance(6000);
  store.close();
  return { chapters, acknowledged };
}
