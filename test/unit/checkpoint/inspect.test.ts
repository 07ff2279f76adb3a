import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { entryKey } from '../../../src/checkpoint/document.js';
import { seal } from '../../../src/checkpoint/envelope.js';
import { FORMAT } from '../../../src/checkpoint/format.js';
import { inspectCheckpoint } from '../../../src/checkpoint/inspect.js';
import { checkpointRig, facts, list } from '../../support/checkpoint-rig.js';
import { STATE } from '../../support/checkpoint-story.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk } from '../../support/fake-disk.js';

const FILE = `${STATE}/checkpoint.json`;
const gpu = facts('vendor.com/gpu', 1);
const nic = facts('vendor.com/nic', 2);
const large = list(3000, 7);

async function usedDisk(): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/broker');
  const { store } = checkpointRig(disk, STATE, new FakeClock(), { journal: { seq: 12 } });
  await store.open();
  await store.update((draft) => {
    draft.put(gpu);
    draft.put(nic);
    draft.put(facts('vendor.com/bare', 3));
    draft.setList(entryKey(gpu), list(100, 1));
    draft.setList(entryKey(nic), large);
    draft.setLimits(() => [{}]);
    draft.put({ ...facts('csi.a.b', 4), type: 'CSIPlugin' });
    draft.put({ ...facts('csi.a.b', 5), type: 'CSIPlugin', primary: false });
    draft.addTombstone({ type: nic.type, name: 'gone', incarnation: nic.socket, time: 't' });
  });
  store.close();
  return disk;
}

describe('inspecting a checkpoint', () => {
  it('tells what is in a whole one, and touches nothing', async () => {
    const disk = await usedDisk();
    const before = disk.operations.length;
    const { plugins, ...rest } = await inspectCheckpoint(disk, FILE);
    assert.deepEqual(rest, {
      file: FILE,
      bytes: disk.peek(FILE)?.length,
      condition: 'whole',
      format: 2,
      generation: 1,
      bootId: 'boot-1',
      writtenAt: '2030-01-01T00:00:00.000Z',
      eventSeq: 12,
      tombstones: 1,
      limits: 1,
      csiDrivers: ['csi.a.b'],
      ledger: 'ok',
      leases: 0,
      problems: [],
      notes: [],
    });
    assert.deepEqual(
      plugins.map(({ name, devices, list: condition, confirmed }) => [name, devices, condition, confirmed]),
      [
        ['vendor.com/gpu', 6, 'inline', true],
        ['vendor.com/nic', 187, 'file', true],
        ['vendor.com/bare', -1, 'none', true],
        ['csi.a.b', -1, 'none', true],
        ['csi.a.b', -1, 'none', true],
      ],
    );
    assert.deepEqual(
      [...new Set(disk.operations.slice(before).map((operation) => operation.split(' ')[0]))],
      ['read', 'list'],
    );
  });

  it('names each list file that is missing or damaged', async () => {
    const disk = await usedDisk();
    const name = `${STATE}/devices/${large.sha256}`;
    disk.plant(`${STATE}/devices/other`, Buffer.alloc(1));
    for (const [damage, word] of [
      [Buffer.alloc(3000, 8), 'damaged'],
      [Buffer.alloc(4000, 7), 'damaged'],
      [undefined, 'missing'],
    ] as const) {
      if (damage === undefined) await disk.remove(name);
      else disk.plant(name, damage);
      const { condition, problems } = await inspectCheckpoint(disk, FILE);
      assert.deepEqual(
        [condition, problems],
        [
          'whole',
          [`the device list of DevicePlugin/vendor.com/nic is ${word}: its devices are unknown until it answers`],
        ],
      );
    }
  });

  it('of a copy that has no lists beside it says so and finds no fault', async () => {
    const disk = await usedDisk();
    disk.plant('/copy.json', disk.peek(FILE) ?? Buffer.alloc(0));
    const { condition, problems, notes, plugins } = await inspectCheckpoint(disk, '/copy.json');
    assert.deepEqual([condition, problems, plugins[1]?.list], ['whole', [], 'unchecked']);
    assert.match(notes.join(), /there is no folder `devices` with them beside this file/);
  });

  it('tells of a damaged one what can still be read, and that it was damaged', async () => {
    const disk = await usedDisk();
    disk.plant(FILE, Buffer.from((disk.peek(FILE) ?? '').toString().replace('"uid":0', '"uid":1')));
    const { condition, problems, notes, plugins, generation } = await inspectCheckpoint(disk, FILE);
    assert.deepEqual([condition, generation, plugins[0]?.uid], ['damaged', 1, 1]);
    assert.deepEqual(problems, ['it cannot be used: its checksum does not fit its bytes: something changed them']);
    assert.deepEqual(notes, ['this was read from a damaged file']);
  });

  it('tells of what is no checkpoint, of a newer format and of a missing file that it is so', async () => {
    const disk = await usedDisk();
    disk.plant('/a', Buffer.from('hello'));
    disk.plant('/b', seal(FORMAT + 1, [Buffer.from('"x":1,\n')]));
    const [other, newer, missing] = [
      await inspectCheckpoint(disk, '/a'),
      await inspectCheckpoint(disk, '/b'),
      await inspectCheckpoint(disk, '/c'),
    ];
    assert.deepEqual([other.condition, other.plugins, other.problems.length], ['damaged', [], 1]);
    assert.deepEqual([newer.condition, newer.format, newer.problems.length], ['newer-format', 3, 1]);
    assert.deepEqual([missing.condition, missing.bytes, missing.problems], ['missing', 0, ['there is no file /c']]);
  });
});
