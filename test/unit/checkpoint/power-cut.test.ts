import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { seededRandom } from '../../support/seeded-random.js';
import { checkpointRig, newDisk } from '../../support/checkpoint-rig.js';
import { drive, spell, STATE, tell, type Told } from '../../support/checkpoint-story.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { FakeDisk } from '../../support/fake-disk.js';

type Prepare = () => Promise<FakeDisk>;

/** How many times each cut is looked at with another part of the unsynced data on the disk. */
const LOTS = 6;

/** A disk on which a broker has lived before and died without a word. */
async function usedDisk(): Promise<FakeDisk> {
  const disk = await newDisk();
  await tell(disk);
  return disk.afterPowerCut();
}

/** A disk whose newest generation is damaged. */
async function damagedDisk(): Promise<FakeDisk> {
  const disk = await usedDisk();
  const bytes = Buffer.from(disk.peek(`${STATE}/checkpoint.json`) ?? '');
  bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100);
  disk.plant(`${STATE}/checkpoint.json`, bytes);
  return disk;
}

/**
 * The next start must find a state that was, and none older than the last acknowledged one.
 *
 * @param before what a start found on the disk before the story
 */
async function check(found: FakeDisk, told: Told, before: string, where: string): Promise<string> {
  const { store } = checkpointRig(found, STATE, new FakeClock());
  const { view } = await store.open();
  const chapter = [before, ...told.chapters.slice(1)].lastIndexOf(spell(store.contents));
  assert.ok(
    chapter >= told.acknowledged,
    `${where}: acknowledged ${told.acknowledged}, found ${chapter}: ${view.reason}`,
  );
  for (const { name, list } of store.contents.plugins.values()) {
    if (list === undefined) continue;
    const bytes = await store.readList(list);
    assert.equal(bytes?.length, list.bytes, `${where}: the list of ${name} is there`);
  }
  return view.state;
}

async function cutEverywhere(prepare: Prepare): Promise<{ readonly cuts: number; readonly states: Set<string> }> {
  const random = seededRandom(20_300_101);
  const { store } = checkpointRig(await prepare(), STATE, new FakeClock());
  await store.open();
  const before = spell(store.contents);
  const states = new Set<string>();
  const whole = await prepare();
  const from = whole.operations.length;
  await tell(whole);
  const last = whole.operations.length;
  for (let cut = from + 1; cut <= last + 1; cut += 1) {
    const disk = await prepare();
    disk.cutBefore(cut);
    const told = await tell(disk);
    const where = `cut before ${String(cut)}: ${whole.operations[cut - 1] ?? 'the end'}`;
    states.add(await check(disk.afterPowerCut(), told, before, `${where}, nothing unsynced survives`));
    for (let lot = 0; lot < LOTS; lot += 1) {
      const odds = random.next();
      const found = disk.afterPowerCut(() => random.next() < odds);
      states.add(await check(found, told, before, `${where}, lot ${String(lot)}`));
    }
  }
  return { cuts: last + 1 - from, states };
}

describe('a power cut', () => {
  it('after any single file operation of a first life leaves the old or the new state', async () => {
    const { cuts, states } = await cutEverywhere(newDisk);
    assert.ok(cuts > 80, String(cuts));
    assert.deepEqual([...states].sort(), ['empty', 'ok']);
  });

  it('after any single file operation of a later life leaves the old or the new state', async () => {
    const { cuts, states } = await cutEverywhere(usedDisk);
    assert.ok(cuts > 80, String(cuts));
    assert.deepEqual([...states], ['ok']);
  });

  it('after any single file operation of a life that began with a damaged file leaves the old or the new state', async () => {
    const { cuts, states } = await cutEverywhere(damagedDisk);
    assert.ok(cuts > 80, String(cuts));
    assert.deepEqual([...states].sort(), ['ok', 'recovered']);
  });

  it('is survived by acknowledged changes only because of the syncs: without them the check fails', async () => {
    const disk = await newDisk();
    disk.syncDirectory = async () => undefined;
    const told = await tell(disk);
    assert.ok(told.acknowledged > 0);
    await assert.rejects(check(disk.afterPowerCut(), told, '', 'no directory is synced'));
  });

  it('looks for its lists, writes, syncs, keeps the previous generation, renames and syncs the folder, in this order', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    const before = disk.operations.length;
    await drive(
      clock,
      store.update((draft) => draft.setLimits(() => [1])),
    );
    const file = `${STATE}/checkpoint.json`;
    assert.deepEqual(disk.operations.slice(before, before + 9), [
      `list ${STATE}/devices`,
      `create ${file}.tmp`,
      `write ${file}.tmp`,
      `sync ${file}.tmp`,
      `link ${file} ${file}.previous.tmp`,
      `rename ${file}.previous.tmp ${file}.previous`,
      `rename ${file}.tmp ${file}`,
      `syncDirectory ${STATE}`,
      `close ${file}.tmp`,
    ]);
    store.close();
  });
});
