import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PluginEntry } from '../../../src/checkpoint/document.js';
import { instanceOf } from '../../../src/checkpoint/entries.js';
import { Persistence } from '../../../src/checkpoint/persistence.js';
import type { Holding } from '../../../src/model/device-list.js';
import type { Instance } from '../../../src/model/instance.js';
import { checkpointRig, facts, list } from '../../support/checkpoint-rig.js';
import { STATE } from '../../support/checkpoint-story.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk } from '../../support/fake-disk.js';

/** A start of a broker on a disk, and what it puts back. */
async function start(
  disk: FakeDisk,
  received?: Omit<Holding, 'instanceId' | 'resource'>,
): Promise<{
  persistence: Persistence;
  restored: Instance[];
  counts: (number | 'walked')[];
  entry(id: string): PluginEntry | undefined;
  generation(): number;
  stop(): Promise<void>;
}> {
  const clock = new FakeClock();
  const { store } = checkpointRig(disk, STATE, clock);
  await store.open();
  const restored: Instance[] = [];
  const counts: (number | 'walked')[] = [];
  const persistence = new Persistence({
    store,
    roster: { nextSeq: () => 1, all: () => [], restore: (instance) => void restored.push(instance) },
    lists: {
      holding: (instanceId) => (received === undefined ? undefined : { instanceId, resource: '', ...received }),
      restore: ({ healthy }) => void counts.push(healthy),
    },
    flood: { pin: () => undefined, unpin: () => undefined, snapshot: () => [], restore: () => [] },
    clock,
    countHealthy: () => {
      counts.push('walked');
      return Promise.resolve(7);
    },
  });
  await persistence.restore(0);
  const stop = async (): Promise<void> => {
    await store.flush(1000);
    store.close();
  };
  const entry = (id: string): PluginEntry | undefined => store.contents.plugins.get(id);
  return { persistence, restored, counts, entry, generation: () => store.view().generation, stop };
}

describe('the records of the checkpoint', () => {
  for (const bytes of [64, 64 * 1024]) {
    it(`of a list of ${String(bytes)} bytes is how many devices are healthy: no start reads it for that`, async () => {
      const disk = new FakeDisk();
      await disk.makeDirectory('/broker');
      await disk.syncDirectory('/');
      const first = await start(disk, { ...list(bytes, 1), healthy: 3 });
      await first.persistence.persist(instanceOf({ ...facts('example.com/x'), bootId: 'boot-1' }, 1, false, 0));
      await first.stop();
      const second = await start(disk);
      assert.deepEqual(second.counts, [3]);
      await second.stop();
    });
  }

  it('of a list that an older version wrote is walked', async () => {
    const disk = new FakeDisk();
    await disk.makeDirectory('/broker');
    await disk.syncDirectory('/');
    const { healthy, ...older } = { ...list(64, 1), healthy: undefined };
    assert.equal(healthy, undefined);
    const first = await start(disk, older as unknown as Holding);
    await first.persistence.persist(instanceOf({ ...facts('example.com/x'), bootId: 'boot-1' }, 1, false, 0));
    await first.stop();
    const second = await start(disk);
    assert.deepEqual(second.counts, ['walked', 7]);
    await second.stop();
  });

  it('of a predecessor is that it is a fallback: after a restart it takes nobody’s place', async () => {
    const disk = new FakeDisk();
    await disk.makeDirectory('/broker');
    await disk.syncDirectory('/');
    const first = await start(disk);
    const old = instanceOf({ ...facts('example.com/x'), bootId: 'boot-1' }, 1, false, 0);
    await first.persistence.persist(old);
    const to = { state: 'held', reason: 'replaced', message: '' } as const;
    Object.assign(old, to);
    first.persistence.changed({ instance: old, before: 'ready', reasonBefore: 'registered', to, isNoNews: false });
    await first.stop();
    const second = await start(disk);
    assert.deepEqual(
      second.restored.map(({ id, state, reason, isServing }) => [id, state, reason, isServing]),
      [[old.id, 'held', 'replaced', false]],
    );
    await second.stop();
  });

  it('of a plugin that the broker came back to are written with the next ones: nobody waits for them', async () => {
    const disk = new FakeDisk();
    await disk.makeDirectory('/broker');
    await disk.syncDirectory('/');
    const first = await start(disk);
    const [known, fresh] = ['x', 'y'].map((name) =>
      instanceOf({ ...facts(`example.com/${name}`), bootId: 'boot-1' }, 1, false, 0),
    ) as [Instance, Instance];
    await first.persistence.persist(known);
    const before = first.generation();
    known.version = 'v2';
    assert.equal(await first.persistence.persist(known, true), true);
    assert.equal(first.generation(), before);
    assert.equal(await first.persistence.persist(fresh, true), true);
    assert.equal(first.generation(), before + 1);
    await first.stop();
    const second = await start(disk);
    assert.deepEqual(second.restored.map(({ name, version }) => [name, version]).sort(), [
      ['example.com/x', 'v2'],
      ['example.com/y', fresh.version],
    ]);
    await second.stop();
  });

  it('of a driver are its facts as they are now, which may have changed since it registered', async () => {
    const disk = new FakeDisk();
    await disk.makeDirectory('/broker');
    await disk.syncDirectory('/');
    const first = await start(disk);
    const driver = instanceOf({ ...facts('csi.example.com'), bootId: 'boot-1' }, 1, false, 0);
    await first.persistence.persist(driver);
    const to = { state: 'ready', reason: 'registered', message: '' } as const;
    for (const nodeId of ['second', 'third']) {
      Object.assign(driver, to, { facts: { nodeId } });
      first.persistence.changed({
        instance: driver,
        before: 'held',
        reasonBefore: 'service-lost',
        to,
        isNoNews: false,
      });
    }
    await first.stop();
    const second = await start(disk);
    assert.deepEqual(second.restored[0]?.facts, { nodeId: 'third' });
    await second.stop();
  });

  it('of a socket that goes by ever new names have the newest one, by one change at once and one an interval', async () => {
    const disk = new FakeDisk();
    await disk.makeDirectory('/broker');
    await disk.syncDirectory('/');
    const first = await start(disk);
    const driver = instanceOf({ ...facts('example.com/x'), bootId: 'boot-1' }, 1, false, 0);
    await first.persistence.persist(driver);
    const to = { state: 'ready', reason: 'registered', message: '' } as const;
    const named = (path: string): void => {
      Object.assign(driver, to, { socketPath: path, endpointPath: path, endpointAsSent: path });
      first.persistence.changed({ instance: driver, before: 'ready', reasonBefore: 'registered', to, isNoNews: true });
    };
    named('/d/1');
    const names = (): unknown => first.entry(driver.id)?.socketPath;
    assert.equal(names(), '/d/1');
    for (let nth = 2; nth < 100; nth++) named(`/d/${String(nth)}`);
    assert.equal(names(), '/d/1');
    await first.stop();
    const second = await start(disk);
    const [back] = second.restored;
    assert.deepEqual([back?.socketPath, back?.endpointPath, back?.endpointAsSent], ['/d/99', '/d/99', '/d/99']);
    await second.stop();
  });
});
