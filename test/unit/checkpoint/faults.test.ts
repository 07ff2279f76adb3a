import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { entryKey } from '../../../src/checkpoint/document.js';
import { Journal } from '../../../src/journal/journal.js';
import { StartBudget } from '../../../src/kernel/start-budget.js';
import { oneAtATime } from '../../../src/platform/store/file-lane.js';
import { journalFile } from '../../../src/platform/store/journal-file.js';
import { LowdbFile } from '../../../src/platform/store/lowdb-file.js';
import { checkpointRig, facts, list } from '../../support/checkpoint-rig.js';
import { drive, LISTS_AT_THE_END, listsOf, spell, STATE, tell } from '../../support/checkpoint-story.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk, type Fault } from '../../support/fake-disk.js';
import { silentLog as log } from '../../support/silence.js';

const FAULTS: readonly Fault[] = ['ENOSPC', 'EROFS', 'EIO', 'EMFILE'];

async function usedDisk(): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/broker');
  await disk.syncDirectory('/');
  await tell(disk);
  return disk.afterPowerCut();
}

/** The contents that a start finds on a disk. */
async function contentsOf(disk: FakeDisk): Promise<string> {
  const { store } = checkpointRig(disk, STATE, new FakeClock());
  await store.open();
  return spell(store.contents);
}

describe('a fault of the disk', () => {
  for (const fault of FAULTS) {
    it(`${fault} at any single operation is survived in memory and made good on the disk`, async () => {
      const last = await operationsOfALife();
      for (let at = 1; at <= last; at += 1) {
        const disk = await usedDisk();
        disk.failAt(at, fault);
        const { chapters } = await tell(disk);
        const clock = new FakeClock();
        const { store } = checkpointRig(disk, STATE, clock);
        await drive(clock, store.open());
        const where = `${fault} at ${String(at)}: ${disk.operations[at - 1] ?? ''}`;
        assert.ok(spell(store.contents) === chapters.at(-1), `${where}: the last change is on the disk`);
        assert.deepEqual(listsOf(store.contents), LISTS_AT_THE_END, where);
        for (const { list } of store.contents.plugins.values()) {
          assert.ok(list !== undefined && (await store.readList(list)) !== undefined, where);
        }
        store.close();
      }
    });
  }

  for (const fault of [...FAULTS, 'EACCES'] as const) {
    it(`${fault} that lasts is told, and everything is on the disk once it is over`, async () => {
      const disk = await usedDisk();
      const clock = new FakeClock();
      const { store, views, events } = checkpointRig(disk, STATE, clock);
      await store.open();
      disk.failAll(fault);
      assert.equal(
        await drive(
          clock,
          store.update((draft) => draft.put(facts('a.b/one', 7))),
        ),
        'not-durable',
      );
      const asked = clock.mono();
      assert.equal(
        await drive(
          clock,
          store.update((draft) => draft.put(facts('a.b/two', 8))),
        ),
        'not-durable',
      );
      assert.equal(clock.mono(), asked, 'nobody waits for a disk that is known to fail');
      assert.equal(views.at(-1)?.state, 'not-writable');
      assert.match(views.at(-1)?.reason ?? '', new RegExp(`not on the disk: ${fault}`));
      if (fault === 'ENOSPC') assert.match(views.at(-1)?.reason ?? '', /; make room on the disk of \S+$/);
      if (fault === 'EACCES') assert.match(views.at(-1)?.reason ?? '', /; let the user of the broker write in \S+$/);
      assert.equal(events.at(-1)?.reason, 'not-checkpointed');
      assert.ok(store.contents.plugins.size >= 2);
      await clock.advance(20_000);
      assert.equal(views.length, 1, 'it is told once');
      disk.failAll(undefined);
      await clock.advance(6000);
      assert.deepEqual([views.at(-1)?.state, store.view().state, store.view().reason], ['ok', 'ok', '']);
      assert.equal(await contentsOf(disk.afterPowerCut()), spell(store.contents));
      assert.equal(
        await drive(
          clock,
          store.update((draft) => draft.setLimits(() => [1])),
        ),
        'durable',
      );
      store.close();
      assert.equal(clock.pending, 0);
    });
  }

  it('of a moment while the checkpoint is read is waited out', async () => {
    const disk = await usedDisk();
    const before = await contentsOf(disk);
    disk.failAt(disk.operations.length + 1, 'EMFILE');
    disk.failAt(disk.operations.length + 2, 'EMFILE');
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    const { view } = await drive(clock, store.open());
    assert.deepEqual([view.state, spell(store.contents)], ['ok', before]);
    assert.equal(clock.pending, 0);
  });

  it('that keeps the checkpoint from being read is no licence to write over it', async () => {
    const disk = await usedDisk();
    const before = disk.peek(`${STATE}/checkpoint.json`);
    disk.failAll('EMFILE');
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    const { view } = await drive(clock, store.open());
    assert.equal(view.state, 'not-writable');
    disk.failAll(undefined);
    assert.equal(await store.update((draft) => draft.put(facts('a.b/c'))), 'not-durable');
    assert.equal(await store.flush(5000), 'not-durable');
    await clock.advance(60_000);
    assert.equal(disk.peek(`${STATE}/checkpoint.json`)?.equals(before ?? Buffer.alloc(0)), true);
  });

  it('that hangs at start keeps nobody waiting longer than the deadline', async () => {
    const disk = await usedDisk();
    disk.failAll('hang');
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    const { view } = await drive(clock, store.open());
    assert.equal(clock.mono(), 2000);
    assert.equal(view.state, 'not-writable');
    assert.match(
      view.reason,
      /did not give the checkpoint within 2000 ms; it is not touched until the broker is restarted/,
    );
    disk.failAll(undefined);
    await clock.settle();
    assert.equal(clock.pending, 0);
  });

  // Each alarm of nothing takes a millisecond of the clock.
  for (const [what, limitMs, spentMs, wholeMs] of [
    ['restart.deadline', 5000, 1500, 3500],
    ['restart.deadline, of less than two seconds two,', 1000, 1500, 500],
  ] as const) {
    it(`that hangs at start keeps nobody waiting longer than ${what} in all its steps, whatever limits they have`, async () => {
      for (const steps of [0, 1, 2, 3]) {
        const disk = await usedDisk();
        const clock = new FakeClock();
        const budget = new StartBudget(clock);
        const settings = { writeDeadlineMs: 60_000, listIntervalMs: 1000, inlineListBytes: 1024 };
        const { store } = checkpointRig(disk, STATE, clock, { settings, leftMs: budget.leftMs });
        const file = journalFile(oneAtATime(disk), `${STATE}/events.jsonl`);
        const journal = new Journal({ file, clock, log, ownUid: 0, userOf: (uid) => uid });
        // The steps before it are answered.
        for (let at = 1; at <= 8; at += 1) disk.failAt(disk.operations.length + steps + at, 'hang');
        budget.begin(limitMs, spentMs);
        await drive(clock, store.open());
        await drive(clock, journal.open(0, budget.leftMs));
        const entries = [...store.contents.plugins.values()];
        const reading = entries.map(async ({ list }) => (list === undefined ? undefined : store.readList(list)));
        await drive(clock, Promise.all(reading));
        await drive(
          clock,
          store.update((draft) => draft.put(facts('a.b/one', 7))),
        );
        assert.ok(disk.hanging > 0 && clock.mono() <= wholeMs + 10, `${String(steps)}: ${String(clock.mono())} ms`);
        budget.end();
        assert.equal(budget.leftMs(60_000), 60_000, 'a step after the start has its own limit');
        store.close();
      }
    });
  }

  it('that hangs while device lists are read leaves them unknown after the deadline, all together', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    disk.failAll('hang');
    const lists = [...store.contents.plugins.values()].map((entry) => entry.list);
    const reading = Promise.all(lists.map(async (list) => (list === undefined ? undefined : store.readList(list))));
    const [inline, file] = await drive(clock, reading);
    assert.deepEqual([inline?.length, file], [100, undefined]);
    assert.deepEqual([clock.mono(), clock.pending], [2000, 0]);
  });

  it('that hangs at any single operation takes one thread, and leaves a state that was', async () => {
    const last = await operationsOfALife();
    for (let at = 2; at <= last; at += 1) {
      const disk = await usedDisk();
      disk.failAt(at, 'hang');
      const { chapters, acknowledged } = await tell(disk, new FakeClock(), 500);
      const where = `hang at ${String(at)}: ${disk.operations[at - 1] ?? ''}`;
      assert.equal(disk.hanging, 1, where);
      assert.equal(disk.mostOutstanding, 1, where);
      disk.release();
      const { store } = checkpointRig(disk, STATE, new FakeClock());
      const { view } = await store.open();
      assert.equal(view.state, 'ok', where);
      assert.ok(chapters.lastIndexOf(spell(store.contents)) >= acknowledged, where);
    }
  });

  it('that hangs in the middle of a write leaves the store well once it ends', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store, views } = checkpointRig(disk, STATE, clock);
    await store.open();
    disk.failAll('hang');
    const asked = clock.mono();
    assert.equal(
      await drive(
        clock,
        store.update((draft) => draft.put(facts('a.b/one', 7))),
      ),
      'not-durable',
    );
    assert.equal(clock.mono() - asked, 2000);
    assert.equal(await store.update((draft) => draft.put(facts('a.b/two', 8))), 'not-durable');
    await clock.advance(60_000);
    assert.equal(disk.hanging, 1);
    assert.ok(store.isWriting, 'the lock must not be given away now');
    assert.equal(await drive(clock, store.flush(5000)), 'not-durable');
    disk.failAll(undefined);
    await clock.advance(100);
    assert.deepEqual(
      views.map(({ state }) => state),
      ['not-writable', 'ok'],
    );
    assert.equal(await contentsOf(disk.afterPowerCut()), spell(store.contents));
    assert.equal(disk.mostOutstanding, 1);
    store.close();
    assert.equal(clock.pending, 0);
  });

  it('the state folder removed under a running broker is made again with the next change', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    disk.removeFolder(STATE);
    assert.equal(
      await drive(
        clock,
        store.update((draft) => draft.put(facts('a.b/one', 7))),
      ),
      'durable',
    );
    assert.equal(await contentsOf(disk.afterPowerCut()), spell(store.contents));
    store.close();
  });

  it('that has many device lists to take has only the few that it has begun with before what somebody waits for', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    const many = Array.from({ length: 40 }, (_, nth) => facts(`a.b/n${nth}`, 10 + nth));
    await drive(
      clock,
      store.update((draft) => many.forEach((one) => draft.put(one))),
    );
    const from = disk.operations.length;
    const listsWritten = (): number =>
      disk.operations.slice(from).filter((name) => name.startsWith(`create ${STATE}/devices/`)).length;
    many.forEach((one, nth) =>
      store.updateSoon(entryKey(one), (draft) => draft.setList(entryKey(one), list(9000, nth))),
    );
    let isDurable = false;
    let before = 0;
    const create = disk.create.bind(disk);
    disk.create = async (file) => {
      if (listsWritten() === 1 && before === 0) {
        before = listsWritten();
        void store
          .update((draft) => draft.put(facts('a.b/late', 8)))
          .then(() => {
            isDurable = true;
            before = listsWritten();
          });
      }
      return create(file);
    };
    await clock.advance(2000);
    assert.equal(isDurable, true);
    assert.ok(before <= 5, `${before} lists were written before it`);
    await clock.advance(4000);
    assert.equal(listsWritten(), 40);
    store.close();
  });

  it('that keeps large device lists off the disk keeps no registration off it', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store, views } = checkpointRig(disk, STATE, clock);
    await store.open();
    const create = disk.create.bind(disk);
    disk.create = (file) =>
      file.includes('/devices/')
        ? Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
        : create(file);
    const [one, two] = [facts('a.b/one', 7), facts('a.b/two', 8)];
    await drive(
      clock,
      store.update((draft) => draft.put(one)),
    );
    store.updateSoon('a.b/one', (draft) => draft.setList(entryKey(one), list(9000, 9)));
    await clock.advance(20);
    assert.deepEqual([views.at(-1)?.state, store.view().state], ['not-writable', 'not-writable']);
    void store.update((draft) => draft.put(two));
    await clock.advance(6000);
    assert.match(await contentsOf(disk.afterPowerCut()), /a\.b\/one.*a\.b\/two/);
    disk.create = create;
    await clock.advance(6000);
    assert.equal(store.view().state, 'ok');
    const next = checkpointRig(disk.afterPowerCut(), STATE, clock).store;
    await next.open();
    assert.equal(listsOf(next.contents)['a.b/one'], list(9000, 9).sha256);
    store.close();
  });
});

async function operationsOfALife(): Promise<number> {
  const disk = await usedDisk();
  await tell(disk);
  return disk.operations.length;
}

describe('a checkpoint that a start would not read', () => {
  it('is not written: the generations that are there stay', async () => {
    const disk = await usedDisk();
    const before = await contentsOf(disk);
    const codec = {
      encode: () => Buffer.allocUnsafe(64 * 1024 * 1024 + 1),
      decode: () => ({ kind: 'damaged', problem: 'none' }) as const,
    };
    const file = new LowdbFile(disk, `${STATE}/checkpoint.json`, codec, new FakeClock(), {});
    await assert.rejects(file.write(), /would have 67108865 bytes, and a start reads 67108864/);
    assert.equal(await contentsOf(disk), before);
  });
});
