import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entryKey } from '../../../src/checkpoint/document.js';
import type { ReceivedList } from '../../../src/checkpoint/draft.js';
import type { ListFiles } from '../../../src/checkpoint/ports.js';
import type { StorePorts } from '../../../src/checkpoint/store-ports.js';
import { inspectCheckpoint } from '../../../src/checkpoint/inspect.js';
import type { LeaseRecord, PluginAnswer } from '../../../src/model/lease.js';
import { deviceListFiles } from '../../../src/platform/store/device-list-files.js';
import { checkpointRig, facts, list } from '../../support/checkpoint-rig.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk } from '../../support/fake-disk.js';
import { leaseRecord } from '../../support/lease-record.js';

const STATE = '/broker/state';
const FILE = `${STATE}/checkpoint.json`;
const DEVICES = `${STATE}/devices`;

/** An answer of so many characters. */
function answer(characters: number, fill = 'x'): PluginAnswer {
  return {
    envs: new Map([['TEXT', fill.repeat(characters)]]),
    mounts: [{ containerPath: '/a', hostPath: '/b', readOnly: true }],
    devices: [{ containerPath: '/dev/a', hostPath: '/dev/b', permissions: 'rw' }],
    annotations: new Map([['note', 'n']]),
    cdiDevices: ['a.b/c=d'],
  };
}

const lease = (id: string, characters: number, fill = id): LeaseRecord =>
  leaseRecord(id, { answer: answer(characters, fill) });

async function brokerDisk(): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/broker');
  await disk.syncDirectory('/');
  return disk;
}

/** A life of the store on a disk. @param held the newest list of every plugin */
async function lifeOn(disk: FakeDisk, held?: ReceivedList, more: Partial<StorePorts> = {}) {
  const clock = new FakeClock();
  const { store } = checkpointRig(disk, STATE, clock, { inventory: { holding: () => held }, ...more });
  const { ledger } = await store.open();
  const put = (record: LeaseRecord): Promise<string> => store.update((draft) => draft.putLease(record));
  const answerOf = (id: string): PluginAnswer | undefined => store.contents.leases.get(id)?.answer;
  /** Lets everything that waits reach the disk. */
  const quiet = (): Promise<unknown> => store.flush(2000);
  return { store, clock, ledger, put, answerOf, quiet };
}

const bytesOf = (disk: FakeDisk): number => disk.peek(FILE)?.length ?? 0;

describe('the answer of a lease', () => {
  it('is a file when it is large, which the checkpoint names, and is there again after a restart', async () => {
    const disk = await brokerDisk();
    const first = await lifeOn(disk);
    assert.equal(await first.put(lease('a', 5000)), 'durable');
    assert.equal(await first.put(lease('b', 10)), 'durable');
    await first.quiet();
    assert.equal(disk.names(DEVICES).length, 1);
    assert.ok(bytesOf(disk) < 3000, `${String(bytesOf(disk))} bytes`);
    const second = await lifeOn(disk);
    assert.equal(second.ledger, 'ok');
    assert.deepEqual([...second.store.contents.leases.values()], [lease('a', 5000), lease('b', 10)]);
    // The next generation names the same file.
    await second.put(lease('c', 10));
    await second.quiet();
    assert.ok(bytesOf(disk) < 3000);
    assert.deepEqual((await lifeOn(disk)).answerOf('a'), answer(5000, 'a'));
    assert.deepEqual((await inspectCheckpoint(disk, FILE)).problems, []);
  });

  it('is with its lease on the disk before anything else: its file follows', async () => {
    const disk = await brokerDisk();
    const { put } = await lifeOn(disk);
    const before = disk.operations.length;
    assert.equal(await put(lease('a', 5000)), 'durable');
    assert.ok(!disk.operations.slice(before).some((operation) => operation.includes('list.tmp')));
    assert.deepEqual((await lifeOn(disk.afterPowerCut())).answerOf('a'), answer(5000, 'a'));
  });

  it('in a file is removed once neither generation names it, and is shared by leases with the same answer', async () => {
    const disk = await brokerDisk();
    const { store, put, quiet } = await lifeOn(disk);
    await put(lease('a', 5000, 'z'));
    await put(lease('b', 5000, 'z'));
    await quiet();
    assert.equal(disk.names(DEVICES).length, 1);
    await store.update((draft) => draft.removeLease('a'));
    await quiet();
    assert.equal(disk.names(DEVICES).length, 1);
    await store.update((draft) => draft.removeLease('b'));
    await put(lease('c', 1));
    await put(lease('d', 1));
    await quiet();
    assert.deepEqual(disk.names(DEVICES), []);
  });

  it('whose file is missing or damaged is lost over all restarts, and its lease with its devices is not', async () => {
    for (const damage of [undefined, Buffer.from('{}')]) {
      const disk = await brokerDisk();
      const first = await lifeOn(disk);
      await first.put(lease('a', 5000));
      await first.quiet();
      const [name = ''] = disk.names(DEVICES);
      if (damage === undefined) await disk.remove(`${DEVICES}/${name}`);
      else disk.plant(`${DEVICES}/${name}`, damage);
      const { problems } = await inspectCheckpoint(disk, FILE);
      if (damage !== undefined) assert.match(problems.join(), /answer of plugins for lease a is damaged/);
      const second = await lifeOn(disk);
      assert.deepEqual([second.ledger, second.answerOf('a')?.isLost], ['ok', true]);
      // As its owner is confirmed, with what is known.
      const known = second.store.contents.leases.get('a');
      assert.ok(known !== undefined);
      await second.put({ ...known, bootId: 'boot-2' });
      await second.quiet();
      const third = await lifeOn(disk);
      assert.deepEqual([third.answerOf('a')?.isLost, third.store.contents.leases.get('a')?.bootId], [true, 'boot-2']);
      // Asked anew.
      await third.put(lease('a', 6000));
      await third.quiet();
      assert.deepEqual((await lifeOn(disk)).answerOf('a'), answer(6000, 'a'));
    }
  });

  it('in a file that somebody removes while the broker runs is written again', async () => {
    const disk = await brokerDisk();
    const { store, put, quiet } = await lifeOn(disk);
    await put(lease('a', 5000));
    await quiet();
    disk.removeFolder(DEVICES);
    assert.equal(await store.isKept(), true);
    assert.deepEqual((await lifeOn(disk)).answerOf('a'), answer(5000, 'a'));
  });

  it('that becomes a file after somebody removed the folder leaves no list behind that the checkpoint names', async () => {
    const disk = await brokerDisk();
    const held = list(4000, 1);
    const { store, put, quiet } = await lifeOn(disk, held);
    await store.update((draft) => {
      draft.put(facts('a.b/gpu'));
      draft.setList(entryKey(facts('a.b/gpu')), held);
    });
    await quiet();
    await put(lease('a', 1));
    assert.equal(disk.names(DEVICES).length, 1);
    disk.removeFolder(DEVICES);
    await put(lease('b', 5000));
    await quiet();
    assert.equal(disk.names(DEVICES).length, 2);
    const { problems } = await inspectCheckpoint(disk, FILE);
    assert.deepEqual(problems, []);
  });

  for (const room of [0, 1])
    it(`stands in the checkpoint again when somebody removed the folder and the disk has room for ${String(room)} files`, async () => {
      const disk = await brokerDisk();
      const files = deviceListFiles(disk, DEVICES);
      let left = Infinity;
      const write: ListFiles['write'] = (given) => {
        left -= 1;
        return left < 0 ? Promise.reject(new Error('ENOSPC')) : files.write(given);
      };
      const { clock, put, quiet } = await lifeOn(disk, undefined, { lists: { ...files, write } });
      await put(lease('a', 5000));
      await quiet();
      assert.ok(bytesOf(disk) < 3000);
      await put(lease('b', 5000));
      disk.removeFolder(DEVICES);
      left = room;
      void put(lease('c', 1));
      await clock.settle();
      const next = await lifeOn(disk);
      assert.deepEqual([next.answerOf('a'), next.answerOf('b')], [answer(5000, 'a'), answer(5000, 'b')]);
      // And is a file once there is room.
      left = Infinity;
      void put(lease('d', 1));
      await clock.advance(5000);
      await quiet();
      assert.ok(bytesOf(disk) < 5000);
      assert.deepEqual((await lifeOn(disk)).answerOf('a'), answer(5000, 'a'));
    });

  it('stays in the checkpoint where the disk has no room for files, and keeps no broker from ending', async () => {
    const disk = await brokerDisk();
    disk.space = { freeBytes: 2 ** 20, totalBytes: 2 ** 21 };
    const { clock, store, put, quiet } = await lifeOn(disk);
    assert.equal(await put(lease('a', 5000)), 'durable');
    assert.equal(await quiet(), 'durable');
    const { generation } = store.view();
    await clock.advance(60_000);
    assert.equal(store.view().generation, generation, 'nothing is written for it alone');
    assert.deepEqual(disk.names(DEVICES), []);
    disk.space = { freeBytes: 2 ** 21, totalBytes: 2 ** 21 };
    await put(lease('b', 1));
    await quiet();
    assert.equal(disk.names(DEVICES).length, 1);
    assert.deepEqual((await lifeOn(disk)).answerOf('a'), answer(5000, 'a'));
  });

  it('stays in the checkpoint where no file can be made, and costs no lease', async () => {
    const disk = await brokerDisk();
    const { put, quiet } = await lifeOn(disk);
    await put(lease('a', 1));
    disk.plant(DEVICES, Buffer.from('in the way'));
    assert.equal(await put(lease('b', 5000)), 'durable');
    await quiet();
    assert.equal(await put(lease('c', 5000)), 'durable');
    await quiet();
    const next = await lifeOn(disk);
    assert.deepEqual([next.answerOf('b'), next.answerOf('c')], [answer(5000, 'b'), answer(5000, 'c')]);
  });

  it('is whole after a power cut at any file operation, if its lease was told', async () => {
    /** Two large answers, one of them released, a third; gives what was told. */
    const story = async (disk: FakeDisk, told: Map<string, boolean>): Promise<void> => {
      const { store, put, quiet } = await lifeOn(disk);
      const keep = async (id: string): Promise<void> => {
        if ((await put(lease(id, 3000))) === 'durable') told.set(id, true);
      };
      await keep('a');
      await keep('b');
      await quiet();
      told.set('a', false);
      await store.update((draft) => draft.removeLease('a'));
      await keep('c');
      await quiet();
    };
    const whole = await brokerDisk();
    const from = whole.operations.length;
    await story(whole, new Map());
    const last = whole.operations.length;
    for (let cut = from + 1; cut <= last; cut += 1) {
      for (const survives of [false, true]) {
        const disk = await brokerDisk();
        disk.cutBefore(cut);
        const told = new Map<string, boolean>();
        void story(disk, told);
        for (let turn = 0; turn < 150; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        const { answerOf } = await lifeOn(disk.afterPowerCut(() => survives));
        for (const [id, isTold] of told) {
          if (isTold) assert.deepEqual(answerOf(id), answer(3000, id), `${id}, cut before operation ${String(cut)}`);
        }
      }
    }
    assert.ok(last - from > 40, `${String(last - from)} operations`);
  });
});
