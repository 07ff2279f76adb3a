import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FloodWorld, policySource, processOf } from '../../support/flood-world.js';
import type { FloodSettings } from '../../../src/model/settings.js';

const bytesOf = (records: readonly unknown[]): number => Buffer.byteLength(JSON.stringify(records));
const strike = (world: FloodWorld, uid: number, name: string): void => {
  for (let call = 0; call < 7; call += 1) world.register({ uid, name });
};
/** Without turns to wait for, of which a model keeps many. */
const REJECT = { register: { burst: 5, intervalMs: 2_000, onExceed: 'reject', maxDelayMs: 0 } } as const;

/** All uids from here on are one user, with a range of them. */
const RANGE = 100_000;
const ranged = (settings: Partial<FloodSettings>): FloodWorld =>
  new FloodWorld(policySource(settings), undefined, undefined, undefined, (uid) => (uid >= RANGE ? 4_001 : uid));

/** A gate with strikes of many users and names, as a checkpoint brings them. */
function struck(many: readonly (readonly [uid: number, name: string])[]): FloodWorld {
  const one = new FloodWorld(policySource(REJECT));
  for (let call = 0; call < 12; call += 1) one.register({ socket: '/s'.repeat(50), caller: processOf(call, 4_001) });
  const [record] = one.gate.snapshot();
  const world = ranged({ ...REJECT, maxBuckets: 100_000 });
  const records = many.map(([uid, name]) => ({ ...record, uid, name }));
  world.gate.restore(records, true);
  return world;
}

describe('strikes and quarantines in the checkpoint', () => {
  it('of one ordinary user take a quarter of a megabyte, and leave room for those of everybody else', () => {
    const names = Array.from({ length: 500 }, (_, nth) => [4_001, `evil.com/p${String(nth)}`] as const);
    const world = struck([...names, [4_002, 'other.com/x'], [0, 'root.com/x']]);
    const records = world.gate.snapshot();
    const own = bytesOf(records.filter(({ uid }) => uid === 4_001));
    assert.ok(own > 250 * 1024 && own <= 256 * 1024, String(own));
    assert.deepEqual(
      records.filter(({ uid }) => uid !== 4_001).map(({ name }) => name),
      ['other.com/x', 'root.com/x'],
    );
  });

  it('of all uids of one ordinary user take no more than those of one', () => {
    const uids = Array.from({ length: 500 }, (_, nth) => [RANGE + nth, 'evil.com/x'] as const);
    const records = struck([...uids, [4_002, 'other.com/x']]).gate.snapshot();
    assert.ok(bytesOf(records) > 250 * 1024 && bytesOf(records) <= 257 * 1024, String(bytesOf(records)));
    assert.ok(records.some(({ uid }) => uid === 4_002));
  });

  it('of all ordinary users take a megabyte, whatever number of uids one has', () => {
    const users = Array.from({ length: 2_000 }, (_, nth) => [nth + 1, 'evil.com/x'] as const);
    const records = struck([...users, [0, 'root.com/x']]).gate.snapshot();
    assert.ok(bytesOf(records) > 1_000_000 && bytesOf(records) <= 1024 * 1024 + 2_048, String(bytesOf(records)));
    assert.ok(records.some(({ uid }) => uid === 0));
  });

  it('are those that last longest: a quarantine is not lost for strikes that came first', () => {
    const world = struck(Array.from({ length: 500 }, (_, nth) => [4_001, `evil.com/p${String(nth)}`] as const));
    world.misbehave({ uid: 4_001, name: 'evil.com/out' });
    assert.equal(world.gate.snapshot()[0]?.name, 'evil.com/out');
  });

  it('hold no text that takes more than a name or a path where it is written', () => {
    const world = new FloodWorld();
    const long = '\u0001'.repeat(4_096);
    world.misbehave({ uid: 4_001, socket: long, endpoint: long, versions: [long] });
    assert.ok(bytesOf(world.gate.snapshot()) < 1_000, String(bytesOf(world.gate.snapshot())));
    const [record] = world.gate.snapshot();
    const next = new FloodWorld();
    next.gate.restore(
      [{ ...record, last: { socket: long, door: 'register', endpoint: long, versions: [long] } }],
      true,
    );
    assert.equal(next.gate.quarantines, 1, 'a record of a version that kept more still counts');
    assert.ok(bytesOf(next.gate.snapshot()) < 1_000);
  });
});

describe('buckets of one ordinary user', () => {
  it('are a quarter of all, and of all such users three: others are still counted one by one', () => {
    const world = new FloodWorld(policySource({ ...REJECT, maxBuckets: 100 }));
    const own = (uid: number): number =>
      world.gate.limits().filter((one) => one.limit === 'register' && one.uid === uid && one.plugin !== '').length;
    for (let name = 0; name < 200; name += 1) strike(world, 4_001, `evil.com/p${String(name)}`);
    assert.equal(own(4_001), 25);
    for (let uid = 5_000; uid < 5_200; uid += 1) strike(world, uid, 'evil.com/x');
    for (let name = 0; name < 25; name += 1) strike(world, 0, `root.com/p${String(name)}`);
    assert.equal(own(0), 25);
    assert.equal(world.gate.limits().filter((one) => one.limit === 'register' && one.plugin !== '').length, 100);
  });

  it('are a quarter of all for all its uids together, and each has buckets of its own within that', () => {
    const world = ranged({ ...REJECT, maxBuckets: 100 });
    for (let nth = 0; nth < 100; nth += 1) strike(world, RANGE + nth, 'evil.com/x');
    for (let nth = 0; nth < 25; nth += 1) strike(world, 4_002, `other.com/p${String(nth)}`);
    const own = world.gate.limits().filter(({ limit, plugin }) => limit === 'register' && plugin !== '');
    assert.deepEqual(
      ['evil.com/x', 'other.com/'].map((name) => own.filter(({ plugin }) => plugin.includes(name)).length),
      [25, 25],
    );
  });

  it('make room for its own later ones when they are idle', async () => {
    const world = new FloodWorld(policySource({ maxBuckets: 16 }));
    for (let name = 0; name < 4; name += 1) world.register({ uid: 4_001, name: `a.com/p${String(name)}` });
    world.register({ name: 'root.com/x' });
    await world.clock.advance(60_000);
    world.register({ uid: 4_001, name: 'a.com/new' });
    const names = world.gate.limits().map(({ plugin }) => plugin);
    assert.ok(names.includes('DevicePlugin/a.com/new') && names.includes('DevicePlugin/root.com/x'));
    assert.ok(!names.includes('DevicePlugin/a.com/p0'));
  });
});
