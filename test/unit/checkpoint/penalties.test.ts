import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { emptyDocument } from '../../../src/checkpoint/document.js';
import { Persistence } from '../../../src/checkpoint/persistence.js';
import type { CheckpointStore } from '../../../src/checkpoint/store.js';
import { checkpointRig, newDisk } from '../../support/checkpoint-rig.js';
import { STATE } from '../../support/checkpoint-story.js';
import type { FakeDisk } from '../../support/fake-disk.js';
import { FloodWorld, policySource } from '../../support/flood-world.js';
import { leaseRecord } from '../../support/lease-record.js';

interface Life {
  readonly store: CheckpointStore;
  readonly persistence: Persistence;
  readonly world: FloodWorld;
}

/** A broker's flood policy and checkpoint on a disk. */
async function live(disk: FakeDisk): Promise<Life> {
  const register = { burst: 5, intervalMs: 2_000, onExceed: 'reject', maxDelayMs: 0 } as const;
  const world = new FloodWorld(policySource({ register }));
  const { store } = checkpointRig(disk, STATE, world.clock);
  await store.open();
  const persistence = new Persistence({
    store,
    roster: { nextSeq: () => 1, all: () => [], restore: () => undefined },
    lists: { holding: () => undefined, restore: () => undefined },
    flood: world.gate,
    clock: world.clock,
    countHealthy: () => Promise.resolve(0),
  });
  persistence.restorePenalties(true);
  world.gate.listeners.follow(persistence);
  return { store, persistence, world };
}

const bytesOn = (disk: FakeDisk): number => disk.peek(`${STATE}/checkpoint.json`)?.length ?? 0;
const giveLease = ({ store }: Life, id: string): Promise<string> =>
  store.update((draft) => draft.putLease(leaseRecord(id.padStart(26, '0'))));

describe('strikes and quarantines of a hostile user', () => {
  it('keep no lease off the disk: 2,000 names that are refused with the longest endpoints', async () => {
    const disk = await newDisk();
    const life = await live(disk);
    const long = '\u0001'.repeat(4096);
    for (let name = 0; name < 2000; name += 1) {
      for (let call = 0; call < 7; call += 1) {
        life.world.register({ uid: 4001, name: `evil${String(name)}.com/x`, socket: long, endpoint: long });
      }
    }
    await life.world.clock.advance(1000);
    assert.equal(await giveLease(life, 'a'), 'durable');
    assert.ok(bytesOn(disk) < 300 * 1024, String(bytesOn(disk)));
    life.store.close();
  });

  it('leave the checkpoint with the next generation when they are over, with any change that it is for', async () => {
    const disk = await newDisk();
    const life = await live(disk);
    for (let name = 0; name < 300; name += 1) {
      for (let call = 0; call < 7; call += 1) life.world.register({ uid: 4001, name: `evil${String(name)}.com/x` });
    }
    await life.world.clock.advance(1000);
    assert.ok(bytesOn(disk) > 50_000);
    await life.world.clock.advance(120_000);
    await giveLease(life, 'a');
    assert.ok(bytesOn(disk) < 2000, String(bytesOn(disk)));
    life.store.close();
  });

  it('of a checkpoint of another life take their share of it, and leave it when they are over', async () => {
    const disk = await newDisk();
    const first = await live(disk);
    for (let name = 0; name < 20; name += 1) {
      for (let call = 0; call < 12; call += 1) first.world.register({ uid: 4001, name: `evil${String(name)}.com/x` });
    }
    const more = first.world.gate
      .snapshot()
      .flatMap((record) =>
        Array.from({ length: 100 }, (_, at) => ({ ...record, name: `${record.name}${String(at)}` })),
      );
    await first.store.update((draft) => draft.setLimits(() => more));
    assert.ok(bytesOn(disk) > 600_000);
    first.store.close();
    const second = await live(disk);
    await second.world.clock.advance(100);
    assert.ok(bytesOn(disk) < 300 * 1024, String(bytesOn(disk)));
    await second.world.clock.advance(3_600_000);
    await giveLease(second, 'a');
    assert.ok(bytesOn(disk) < 2000, String(bytesOn(disk)));
    second.store.close();
  });

  it('are not looked for with each generation, but with the first after they changed', async () => {
    const disk = await newDisk();
    const life = await live(disk);
    let looked = 0;
    const snapshot = life.world.gate.snapshot.bind(life.world.gate);
    life.world.gate.snapshot = () => {
      looked += 1;
      return snapshot();
    };
    life.world.misbehave({ uid: 4001 });
    for (let lease = 0; lease < 20; lease += 1) await giveLease(life, String(lease));
    assert.equal(looked, 1);
    life.world.misbehave({ uid: 4002 });
    await giveLease(life, 'a');
    assert.equal(looked, 2);
    assert.match(disk.peek(`${STATE}/checkpoint.json`)?.toString() ?? '', /"uid":4002/);
    life.store.close();
  });

  it('are given up before anything else where a start could not read the checkpoint with them', () => {
    const limits = [{ long: 'x'.repeat(5000) }];
    const document = { ...emptyDocument('boot-1'), limits, leases: [leaseRecord('a')] };
    const encoder = new CheckpointCodec();
    assert.ok(encoder.encode(document, 10_000).length > 5000);
    const small = encoder.encode(document, 4000).toString();
    assert.ok(small.length < 4000 && small.includes('"gpu-a"') && small.includes('"limits":[]'));
    assert.equal(encoder.encode(document, 10).toString(), small, 'there is nothing else to give up');
    assert.ok(encoder.encode(document).length > 5000);
  });
});
