import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { decodeCheckpoint } from '../../../src/checkpoint/decode.js';
import { entryKey, type CheckpointDocument } from '../../../src/checkpoint/document.js';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { seal } from '../../../src/checkpoint/envelope.js';
import { FORMAT } from '../../../src/checkpoint/format.js';
import type { Metrics } from '../../../src/kernel/metrics.js';
import { noMetrics } from '../../support/silence.js';
import { checkpointRig, facts, list, newDisk } from '../../support/checkpoint-rig.js';
import { drive, listsOf, spell, STATE } from '../../support/checkpoint-story.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { FakeDisk } from '../../support/fake-disk.js';

const FILE = `${STATE}/checkpoint.json`;
const gpu = facts('vendor.com/gpu', 1);
const nic = facts('vendor.com/nic', 2);

/** Two generations: the older with one plugin, the newer with two. */
async function usedDisk(): Promise<FakeDisk> {
  const disk = await newDisk();
  const { store } = checkpointRig(disk, STATE, new FakeClock());
  await store.open();
  assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
  assert.equal(await store.update((draft) => draft.put(nic)), 'durable');
  store.close();
  return disk;
}

function written(disk: FakeDisk, file = FILE): CheckpointDocument {
  const decoded = decodeCheckpoint(disk.peek(file) ?? Buffer.alloc(0));
  assert.ok(decoded.kind === 'document', JSON.stringify(decoded));
  return decoded.document;
}

const DAMAGE: readonly { readonly kind: string; readonly of: (bytes: Buffer) => Buffer }[] = [
  { kind: 'empty', of: () => Buffer.alloc(0) },
  { kind: 'cut in half', of: (bytes) => bytes.subarray(0, bytes.length >> 1) },
  { kind: 'all NUL', of: (bytes) => Buffer.alloc(bytes.length) },
  { kind: 'with a NUL tail', of: (bytes) => Buffer.concat([bytes, Buffer.alloc(512)]) },
  {
    kind: 'with a flipped bit',
    of: (bytes) => {
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(flipped.readUInt8(200) ^ 4, 200);
      return flipped;
    },
  },
  { kind: 'somebody else’s JSON', of: () => Buffer.from('[]\n') },
  { kind: 'edited by hand', of: (bytes) => Buffer.from(bytes.toString().replace('"uid":0', '"uid":1')) },
  { kind: 'a sealed document with a member missing', of: () => seal(FORMAT, [Buffer.from('"generation":9,\n')]) },
];

describe('opening the checkpoint', () => {
  it('on a first start is calm: state empty, no problem, then ok with the first generation', async () => {
    const disk = await newDisk();
    const { store, views, events } = checkpointRig(disk, STATE, new FakeClock());
    const opened = await store.open();
    assert.deepEqual(opened, {
      view: { state: 'empty', generation: 0, bytes: 0, lastWrite: '', reason: '' },
      eventSeq: 0,
      hints: false,
      rebooted: false,
      ledger: 'ok',
    });
    assert.deepEqual(events, [{ type: 'checkpoint', message: 'there is no checkpoint yet: this is a first start' }]);
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    assert.deepEqual(
      views.map(({ state }) => state),
      ['ok'],
    );
    const { generation, bytes, lastWrite } = store.view();
    assert.deepEqual([generation, bytes, lastWrite], [1, disk.peek(FILE)?.length, '2030-01-01T00:00:00.000Z']);
  });

  it('gives back what was written', async () => {
    const disk = await usedDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    const { view, hints, rebooted } = await store.open();
    assert.deepEqual([view.state, view.generation, hints, rebooted], ['ok', 2, false, false]);
    assert.deepEqual([...store.contents.plugins.keys()], [entryKey(gpu), entryKey(nic)]);
    for (const entry of store.contents.plugins.values()) assert.equal(store.isHint(entry), false);
  });

  for (const { kind, of } of DAMAGE) {
    it(`takes the previous generation as hints when the file is ${kind}, and keeps the file for diagnosis`, async () => {
      const disk = await usedDisk();
      const damaged = of(disk.peek(FILE) ?? Buffer.alloc(0));
      disk.plant(FILE, damaged);
      const { store, events } = checkpointRig(disk, STATE, new FakeClock());
      const { view, hints, rebooted } = await store.open();
      assert.deepEqual([view.state, view.generation, hints, rebooted], ['recovered', 1, true, false]);
      assert.match(
        view.reason,
        /^checkpoint\.json cannot be used: .*; it is kept as checkpoint\.json\.corrupt-2030-01-01T00/,
      );
      assert.equal(events.at(-1)?.message, view.reason);
      assert.deepEqual([...store.contents.plugins.keys()], [entryKey(gpu)]);
      for (const entry of store.contents.plugins.values()) assert.ok(store.isHint(entry));
      const aside = disk.names(STATE).filter((name) => name.includes('corrupt'));
      assert.equal(aside.length, 1);
      assert.equal(disk.peek(`${STATE}/${aside[0] ?? ''}`)?.equals(damaged), true);
    });
  }

  it('keeps hints hints until they answer, also over a further restart', async () => {
    const disk = await usedDisk();
    disk.plant(FILE, Buffer.alloc(9));
    const first = checkpointRig(disk, STATE, new FakeClock());
    await first.store.open();
    await first.store.update((draft) => draft.put(nic));
    const second = checkpointRig(disk, STATE, new FakeClock());
    assert.equal((await second.store.open()).view.state, 'ok');
    const entries = [...second.store.contents.plugins.values()];
    assert.deepEqual(
      entries.map((entry) => [entry.name, second.store.isHint(entry)]),
      [
        ['vendor.com/gpu', true],
        ['vendor.com/nic', false],
      ],
    );
  });

  it('takes the previous generation when the file is missing', async () => {
    const disk = await usedDisk();
    await disk.remove(FILE);
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    const { view, hints } = await store.open();
    assert.deepEqual([view.state, hints], ['recovered', true]);
    assert.match(view.reason, /^checkpoint\.json is missing; generation 1 is used instead/);
  });

  it('starts empty when both generations are damaged, says so, and writes again', async () => {
    const disk = await usedDisk();
    disk.plant(FILE, Buffer.alloc(9));
    disk.plant(`${FILE}.previous`, Buffer.alloc(7));
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    const { view, hints } = await store.open();
    assert.deepEqual([view.state, hints, store.contents.plugins.size], ['empty', false, 0]);
    assert.match(view.reason, /no generation is left, so plugins are known only once they register again$/);
    assert.equal(disk.names(STATE).filter((name) => name.includes('corrupt')).length, 2);
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    assert.equal(store.view().state, 'empty', 'it stays visible that something was lost');
    assert.equal(written(disk).plugins.length, 1);
  });

  it('keeps at most five damaged files, the newest', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    for (let round = 1; round <= 8; round += 1) {
      disk.plant(FILE, Buffer.alloc(round));
      const { store } = checkpointRig(disk, STATE, clock);
      await store.open();
      store.close();
      if (round % 2 === 0) await clock.advance(1000);
    }
    const sizes = disk
      .names(STATE)
      .filter((name) => name.startsWith('checkpoint.json.corrupt-'))
      .map((name) => disk.peek(`${STATE}/${name}`)?.length);
    assert.deepEqual(sizes, [4, 5, 6, 7, 8]);
  });

  it('leaves a newer format alone and serves from memory', async () => {
    const disk = await usedDisk();
    const newer = seal(FORMAT + 1, [Buffer.from('"anything":{"at":"all"},\n')]);
    disk.plant(FILE, newer);
    const { store, events } = checkpointRig(disk, STATE, new FakeClock());
    const { view, hints } = await store.open();
    assert.deepEqual([view.state, hints, store.contents.plugins.size], ['newer-format', false, 0]);
    assert.match(events.at(-1)?.message ?? '', /has format 3, which is newer than this version; it is left alone/);
    assert.equal(await store.update((draft) => draft.put(gpu)), 'not-durable');
    assert.equal(await store.flush(5000), 'not-durable');
    assert.equal(store.contents.plugins.size, 1);
    assert.equal(disk.peek(FILE)?.equals(newer), true);
    assert.equal(store.view().state, 'newer-format');
  });

  it('after a reboot gives hints, which count again as they register', async () => {
    const disk = await usedDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock(), { bootId: 'boot-2' });
    const { view, hints, rebooted } = await store.open();
    assert.deepEqual([view.state, hints, rebooted], ['ok', true, true]);
    await store.update((draft) => draft.put(nic));
    assert.equal(written(disk).bootId, 'boot-2');
    assert.deepEqual(
      written(disk).plugins.map(({ name, bootId }) => [name, bootId]),
      [
        ['vendor.com/gpu', 'boot-1'],
        ['vendor.com/nic', 'boot-2'],
      ],
    );
  });

  it('goes on when the damaged file cannot be moved, and writes only once it can', async () => {
    const disk = await usedDisk();
    const damaged = Buffer.alloc(9);
    disk.plant(FILE, damaged);
    const rename = disk.rename.bind(disk);
    disk.rename = async () => Promise.reject(Object.assign(new Error('EROFS: read-only'), { code: 'EROFS' }));
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    const { view } = await store.open();
    assert.equal(view.state, 'recovered');
    assert.match(view.reason, /it could not be moved aside: EROFS/);
    assert.equal(
      await drive(
        clock,
        store.update((draft) => draft.put(nic)),
      ),
      'not-durable',
    );
    assert.equal(disk.peek(FILE)?.equals(damaged), true);
    disk.rename = rename;
    await clock.advance(6000);
    assert.equal(store.view().state, 'recovered');
    assert.equal(written(disk).plugins.length, 2);
    assert.equal(disk.names(STATE).filter((name) => name.includes('corrupt')).length, 1);
  });
});

describe('changing the checkpoint', () => {
  it('is seen in memory at once and answered when it is on the disk', async () => {
    const disk = await newDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    await store.open();
    const saved = store.update((draft) => draft.put(gpu));
    assert.equal(store.contents.plugins.size, 1);
    assert.equal(await saved, 'durable');
    assert.equal(written(disk.afterPowerCut()).plugins.length, 1);
  });

  it('at once by 500 shares few writes', async () => {
    const disk = await newDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    const names = Array.from({ length: 500 }, (_, index) => `vendor.com/r${index}`);
    const saves = names.map((name, life) => store.update((draft) => draft.put(facts(name, life))));
    assert.ok((await drive(clock, Promise.all(saves))).every((fate) => fate === 'durable'));
    assert.equal(store.view().generation, 2);
    assert.equal(written(disk).plugins.length, 500);
  });

  it('keeps fields of newer versions, at the top and in each entry', async () => {
    const disk = await usedDisk();
    const { plugins, ...rest } = written(disk);
    const future = new Map<string, unknown>([
      ['__proto__', { polluted: true }],
      ['later', [1]],
    ]);
    const document = { ...rest, extra: future, plugins: plugins.map((entry) => ({ ...entry, extra: future })) };
    disk.plant(FILE, new CheckpointCodec().encode(document));
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    await store.open();
    await store.update((draft) => draft.put({ ...gpu, registrations: 2 }));
    const after = written(disk);
    assert.deepEqual([after.extra, ...after.plugins.map(({ extra }) => extra)], [future, future, future]);
    assert.equal(after.plugins[0]?.registrations, 2);
  });

  it('keeps the highest event number there was', async () => {
    const disk = await newDisk();
    const journal = { seq: 41 };
    const rig = checkpointRig(disk, STATE, new FakeClock(), { journal });
    await rig.store.open();
    await rig.store.update((draft) => draft.put(gpu));
    assert.equal(written(disk).eventSeq, 41);
    journal.seq = 0;
    const next = checkpointRig(disk, STATE, new FakeClock(), { journal });
    assert.equal((await next.store.open()).eventSeq, 41);
    await next.store.update((draft) => draft.put(nic));
    assert.equal(written(disk).eventSeq, 41);
  });

  it('counts each write', async () => {
    const writes: string[] = [];
    const metrics: Metrics = { ...noMetrics, checkpointWrite: (result) => writes.push(result) };
    const disk = await newDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock, { metrics });
    await store.open();
    await store.update((draft) => draft.put(gpu));
    disk.failAt(disk.operations.length + 4, 'EIO');
    await drive(
      clock,
      store.update((draft) => draft.put(nic)),
    );
    await clock.advance(1000);
    assert.deepEqual(writes, ['ok', 'failed', 'ok']);
  });

  it('soon is done at most once an interval for each key, and at once when it is flushed', async () => {
    const disk = await newDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    await store.update((draft) => draft.put(gpu));
    for (let fill = 1; fill <= 5; fill += 1) {
      store.updateSoon(gpu.name, (draft) => draft.setList(entryKey(gpu), list(100, fill)));
    }
    await clock.advance(20);
    assert.equal(written(disk).plugins[0]?.list?.sha256, list(100, 1).sha256);
    await clock.advance(1000);
    assert.equal(written(disk).plugins[0]?.list?.sha256, list(100, 5).sha256);
    assert.equal(store.view().generation, 3);
    store.updateSoon(gpu.name, (draft) => draft.setList(entryKey(gpu), list(100, 6)));
    assert.equal(await store.flush(5000), 'durable');
    assert.equal(written(disk).plugins[0]?.list?.sha256, list(100, 6).sha256);
    store.close();
    assert.equal(clock.pending, 0);
  });

  it('before the disk was read stays in memory: the disk may hold more than we know', async () => {
    const disk = await usedDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    assert.equal(await store.update((draft) => draft.put(facts('vendor.com/new', 3))), 'not-durable');
    assert.equal(await store.flush(1000), 'not-durable');
    assert.deepEqual(
      written(disk).plugins.map(({ name }) => name),
      [gpu.name, nic.name],
    );
  });

  it('after close stays in memory', async () => {
    const disk = await usedDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    await store.open();
    store.close();
    assert.equal(await store.update((draft) => draft.remove(entryKey(gpu))), 'not-durable');
    assert.equal(written(disk).plugins.length, 2);
  });
});

describe('device lists of the checkpoint', () => {
  it('stand in it when they are small and are files when they are large', async () => {
    const disk = await usedDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    await store.open();
    const [small, large] = [list(1024, 1), list(1025, 2)];
    await store.update((draft) => {
      draft.setList(entryKey(gpu), small);
      draft.setList(entryKey(nic), large);
    });
    assert.deepEqual(disk.names(`${STATE}/devices`), [large.sha256]);
    const next = checkpointRig(disk.afterPowerCut(), STATE, new FakeClock()).store;
    await next.open();
    const stored = [...next.contents.plugins.values()].map((entry) => entry.list);
    assert.deepEqual([stored[0]?.devices, stored[1]?.devices], [small.devices, large.devices]);
    for (const [index, { raw }] of [small, large].entries()) {
      const kept = stored[index];
      assert.ok(kept !== undefined);
      assert.deepEqual(await next.readList(kept), raw);
    }
  });

  it('whose file is missing or damaged are unknown, and are written again when they come again', async () => {
    for (const damage of [undefined, Buffer.alloc(2000), Buffer.alloc(2001, 2), Buffer.alloc(0)]) {
      const disk = await usedDisk();
      const { store } = checkpointRig(disk, STATE, new FakeClock());
      await store.open();
      const large = list(2000, 2);
      const name = `${STATE}/devices/${large.sha256}`;
      await store.update((draft) => draft.setList(entryKey(gpu), large));
      if (damage === undefined) await disk.remove(name);
      else disk.plant(name, damage);
      const next = checkpointRig(disk, STATE, new FakeClock()).store;
      assert.equal((await next.open()).view.state, 'ok');
      const kept = next.contents.plugins.get(entryKey(gpu))?.list;
      assert.ok(kept !== undefined);
      assert.equal(await next.readList(kept), undefined);
      assert.equal(await next.update((draft) => draft.setList(entryKey(gpu), large)), 'durable');
      assert.equal(disk.peek(name)?.equals(large.raw), true);
    }
  });

  it('without room are told after a start that found less than was written, too, beside what it found', async () => {
    const disk = await usedDisk();
    disk.plant(FILE, Buffer.alloc(3));
    disk.space = { freeBytes: 2 ** 20, totalBytes: 2 ** 21 };
    const { store, listsProblems } = checkpointRig(disk, STATE, new FakeClock());
    const found = (await store.open()).view;
    await store.update((draft) => draft.setList(entryKey(gpu), list(2 ** 20, 1)));
    const { state, reason } = store.view();
    assert.equal(state, 'recovered');
    assert.match(listsProblems.at(-1) ?? '', /^lists of devices are not written/);
    assert.equal(reason, `${found.reason}; ${listsProblems.at(-1) ?? ''}`);
    disk.space = { freeBytes: 2 ** 40, totalBytes: 2 ** 40 };
    await store.update((draft) => draft.setList(entryKey(gpu), list(2 ** 20, 2)));
    assert.deepEqual([store.view().reason, listsProblems.at(-1)], [found.reason, undefined]);
  });

  it('stay as long as one of the two generations names them, and no longer', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    disk.plant(`${STATE}/devices/${'e'.repeat(64)}`, Buffer.from('a leftover'));
    const onDisk = async (fill: number): Promise<readonly string[]> => {
      await store.update((draft) => draft.setList(entryKey(gpu), list(5000, fill)));
      await clock.settle();
      return disk.names(`${STATE}/devices`);
    };
    const hash = (fill: number): string => list(5000, fill).sha256;
    assert.deepEqual(await onDisk(1), [hash(1)]);
    assert.deepEqual(await onDisk(2), [hash(1), hash(2)].sort());
    assert.deepEqual(await onDisk(3), [hash(2), hash(3)].sort());
    assert.deepEqual(await onDisk(2), [hash(2), hash(3)].sort());
    assert.deepEqual(await onDisk(2), [hash(2)]);
    disk.plant(FILE, Buffer.alloc(3));
    const next = checkpointRig(disk, STATE, new FakeClock()).store;
    assert.equal((await next.open()).view.state, 'recovered');
    const kept = next.contents.plugins.get(entryKey(gpu))?.list;
    assert.ok(kept !== undefined && (await next.readList(kept)) !== undefined);
  });

  it('in great number are written in small portions, and registrations do not wait for all of them', async () => {
    const disk = await newDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    const plugins = Array.from({ length: 40 }, (_, life) => facts(`vendor.com/r${life}`, life));
    await store.update((draft) => {
      for (const plugin of plugins) draft.put(plugin);
    });
    void store.update((draft) => {
      for (const [fill, plugin] of plugins.entries()) draft.setList(entryKey(plugin), list(2000, fill));
    });
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    assert.ok(disk.names(`${STATE}/devices`).length <= 8, 'the registration did not wait for all lists');
    assert.equal(await drive(clock, store.flush(5000)), 'durable');
    assert.equal(disk.names(`${STATE}/devices`).length, 40);
    assert.ok(Object.values(listsOf(store.contents)).filter((sha256) => sha256 !== undefined).length === 40);
    assert.ok(
      written(disk.afterPowerCut()).plugins.every(({ name, list: last }) => last !== undefined || name === gpu.name),
    );
  });

  it('leave room on the disk for registrations, which is told once, and are written when there is room', async () => {
    const disk = await newDisk();
    const clock = new FakeClock();
    const { store, events } = checkpointRig(disk, STATE, clock);
    await store.open();
    disk.space = { freeBytes: 2 ** 20 + 4096, totalBytes: 2 ** 21 };
    const plugins = Array.from({ length: 10 }, (_, life) => facts(`vendor.com/r${life}`, life));
    const told = (): readonly string[] =>
      events.map(({ message }) => message).filter((text) => /lists of dev/.test(text));
    for (const [fill, plugin] of plugins.entries()) {
      assert.equal(await store.update((draft) => draft.put(plugin)), 'durable');
      store.note((draft) => draft.setList(entryKey(plugin), list(2000, fill)));
    }
    assert.equal(await drive(clock, store.flush(5000)), 'durable', 'it ends, though lists wait');
    assert.deepEqual([disk.names(`${STATE}/devices`), written(disk.afterPowerCut()).plugins.length], [[], 10]);
    assert.deepEqual(told().length, 1);
    assert.match(told()[0] ?? '', /make room on the disk of/);
    disk.space = { freeBytes: 2 ** 21, totalBytes: 2 ** 21 };
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    assert.equal(await drive(clock, store.flush(5000)), 'durable');
    assert.equal(disk.names(`${STATE}/devices`).length, 10);
    assert.match(told()[1] ?? '', /has room for all lists of devices again/);
    assert.equal(told().length, 2);
  });

  it('of a folder that was removed are written again when they come again', async () => {
    const disk = await usedDisk();
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    await store.open();
    await store.update((draft) => draft.setList(entryKey(gpu), list(2000, 1)));
    disk.removeFolder(`${STATE}/devices`);
    await store.update((draft) => draft.setList(entryKey(nic), list(2000, 2)));
    await store.update((draft) => draft.setList(entryKey(gpu), list(2000, 1)));
    assert.equal(disk.names(`${STATE}/devices`).length, 2);
  });

  it('that come and go while files are being removed are never lost', async () => {
    const disk = await usedDisk();
    const clock = new FakeClock();
    const { store } = checkpointRig(disk, STATE, clock);
    await store.open();
    for (let round = 0; round < 60; round += 1) {
      void store.update((draft) => draft.setList(entryKey(gpu), list(3000, round % 3)));
      if (round % 2 === 0) await clock.advance(round % 5);
      void store.update((draft) => draft.setList(entryKey(nic), list(3000, (round + 1) % 3)));
      for (let turn = 0; turn < round % 7; turn += 1) await Promise.resolve();
    }
    await drive(clock, store.flush(5000));
    await clock.settle();
    const next = checkpointRig(disk.afterPowerCut(), STATE, new FakeClock()).store;
    await next.open();
    assert.equal(spell(next.contents), spell(store.contents));
    assert.deepEqual(listsOf(next.contents), {
      [gpu.name]: list(3000, 59 % 3).sha256,
      [nic.name]: list(3000, 0).sha256,
    });
    for (const { list: kept } of next.contents.plugins.values()) {
      assert.ok(kept !== undefined && (await next.readList(kept)) !== undefined);
    }
  });
});
