import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { Followers } from '../../../src/allocation/followers.js';
import type { AllocationPorts, LeaseNews } from '../../../src/allocation/ports.js';
import { onceForAll } from '../../../src/platform/grpc/lease-stream.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { FakeClock } from '../../support/fake-clock.js';
import { lease } from '../../support/leases.js';

const GPU = 'v/gpu';
const STRANGER = 4001;
const OTHER = 4002;
const forever = (): AbortSignal => new AbortController().signal;

/** Leases with one device each, whose health can be set. */
class Bed {
  readonly machine = new FakeMachine();
  readonly #gpu = this.machine.offer(GPU, 'g0', 'g1');
  readonly #opened: ReturnType<typeof allocationWorld>;

  constructor(more: Partial<AllocationPorts> = {}) {
    this.#opened = allocationWorld(this.machine, more);
  }

  async allocations(): Promise<Allocations> {
    return (await this.#opened).allocations;
  }

  async lease(uid: number, key = 'k'): Promise<void> {
    const allocations = await this.allocations();
    assert.ok((await allocations.allocate(request(GPU, { key }), { uid, process: undefined }, forever())).ok);
  }

  async follow(uid: number, tell: (news: LeaseNews) => void, key = 'k', signal = forever()): Promise<string> {
    const allocations = await this.allocations();
    const result = allocations.attach({ id: '', key }, { uid, process: undefined }, tell, signal);
    await this.machine.clock.settle();
    return result.ok ? 'follows' : result.refusal.code;
  }

  /** All devices become well or not, and those who follow hear of it. */
  async flap(health: string): Promise<void> {
    for (const device of this.#gpu.devices) device.health = health;
    (await this.allocations()).changed(new Set([GPU]));
    await this.machine.clock.settle();
  }
}

const typesOf = (heard: readonly LeaseNews[]): string[] => heard.map(({ type }) => type);

describe('news of a lease', () => {
  it('reach all others where one follower fails', async () => {
    const bed = new Bed();
    await bed.lease(0);
    const heard: LeaseNews[] = [];
    let isBroken = false;
    await bed.follow(0, () => {
      if (isBroken) throw new Error('its stream was destroyed');
    });
    await bed.follow(0, (news) => heard.push(news));
    isBroken = true;
    await bed.flap('Unhealthy');
    await bed.machine.clock.advance(1_000);
    await bed.flap('Healthy');
    assert.deepEqual(typesOf(heard), ['attached', 'impaired', 'active']);
  });

  it('are told at once, and then at most once a second, the newest in the place of those before', async () => {
    const bed = new Bed();
    await bed.lease(0);
    const heard: LeaseNews[] = [];
    await bed.follow(0, (news) => heard.push(news));
    await bed.flap('Unhealthy');
    assert.deepEqual(typesOf(heard), ['attached', 'impaired']);
    for (let nth = 0; nth < 4; nth += 1)
      for (const health of ['Healthy', 'Unhealthy', 'Healthy']) await bed.flap(health);
    assert.equal(heard.length, 2);
    await bed.machine.clock.advance(999);
    assert.equal(heard.length, 2);
    await bed.machine.clock.advance(1);
    assert.deepEqual(typesOf(heard), ['attached', 'impaired', 'active']);
    await bed.machine.clock.advance(5000);
    assert.equal(heard.length, 3);
    await bed.flap('Unhealthy');
    assert.equal(heard.length, 4);
  });

  it('that it is over are told at once, and nothing after them', async () => {
    const bed = new Bed();
    await bed.lease(0);
    const heard: LeaseNews[] = [];
    await bed.follow(0, (news) => heard.push(news));
    await bed.flap('Unhealthy');
    await bed.flap('Healthy');
    await (await bed.allocations()).release({ id: '', key: 'k' }, { uid: 0, process: undefined });
    assert.deepEqual(typesOf(heard), ['attached', 'impaired', 'released']);
    await bed.machine.clock.advance(10_000);
    assert.equal(heard.length, 3);
  });

  it('are encoded once for all followers, and so is the first message of each', async () => {
    const bed = new Bed();
    await bed.lease(0);
    let encodings = 0;
    const encode = onceForAll(() => Buffer.alloc((encodings += 1)));
    for (let nth = 0; nth < 16; nth += 1) await bed.follow(0, (news) => void encode(news));
    assert.equal(encodings, 1);
    await bed.flap('Unhealthy');
    assert.equal(encodings, 2);
    await (await bed.allocations()).release({ id: '', key: 'k' }, { uid: 0, process: undefined });
    assert.equal(encodings, 3);
  });

  it('begin with the CDI name as it is, also where one who came before was told that there is none', () => {
    const clock = new FakeClock();
    const userOf = (uid: number): number => uid;
    const followers = new Followers({ clock, ownUid: 0, userOf, nextTurn: () => Promise.resolve() });
    const one = lease({ id: 'x' });
    const told: LeaseNews[] = [];
    const nameless = { problem: 'the directory is read-only', reason: 'later' } as const;
    for (const cdi of [nameless, nameless, { name: 'plugin-broker.io/lease=x' }]) {
      followers.follow({ lease: one, cdi }, 0, (news) => told.push(news));
    }
    assert.deepEqual(
      told.map((news) => told.indexOf(news)),
      [0, 0, 2],
      'what is told is encoded once for each state',
    );
    followers.stop();
  });

  it('are told in turns with everything else', async () => {
    let turns = 0;
    const bed = new Bed({ nextTurn: () => ((turns += 1), Promise.resolve()) });
    await bed.lease(0);
    for (let nth = 0; nth < 16; nth += 1)
      await bed.follow(0, ({ type }) => bed.machine.clock.pass(type === 'impaired' ? 2 : 0));
    turns = 0;
    await bed.flap('Unhealthy');
    assert.ok(turns >= 8, `${String(turns)} turns for 32 ms`);
  });

  it('of an ordinary user take a tenth of the time, and those of root as long as they take', async () => {
    const bed = new Bed();
    const heard = new Map<number, number>();
    for (const uid of [STRANGER, 0]) {
      await bed.lease(uid);
      const tell = ({ type }: LeaseNews): void => {
        if (type === 'attached') return;
        heard.set(uid, (heard.get(uid) ?? 0) + 1);
        bed.machine.clock.pass(500);
      };
      await bed.follow(uid, tell);
    }
    for (let second = 0; second < 30; second += 1) {
      await bed.flap(second % 2 === 0 ? 'Unhealthy' : 'Healthy');
      await bed.machine.clock.advance(1000);
    }
    const [root, stranger] = [heard.get(0) ?? 0, heard.get(STRANGER) ?? 0];
    assert.ok(root >= 28, `root was told ${String(root)} times`);
    // 200 ms at once, and a tenth of a minute at most: 6 s of 500 ms each.
    assert.ok(stranger >= 3 && stranger <= 14, `an ordinary user was told ${String(stranger)} times`);
  });
});

describe('the followers of leases', () => {
  const settings = { enabled: true, group: '', checkMs: 10_000, joinEnv: [], maxLeases: 16 };

  it('are 16 of one lease', async () => {
    const bed = new Bed();
    await bed.lease(0);
    const over = new AbortController();
    assert.equal(await bed.follow(0, () => undefined, 'k', over.signal), 'follows');
    for (let nth = 1; nth < 16; nth += 1) assert.equal(await bed.follow(0, () => undefined), 'follows');
    assert.equal(await bed.follow(0, () => undefined), 'FLOOD_ALLOCATE');
    over.abort();
    assert.equal(await bed.follow(0, () => undefined), 'follows');
  });

  it('of one ordinary user are a quarter of as many as there may be leases, and root has no share', async () => {
    const bed = new Bed({ settings });
    await bed.lease(STRANGER);
    for (let nth = 0; nth < 4; nth += 1) assert.equal(await bed.follow(STRANGER, () => undefined), 'follows');
    assert.equal(await bed.follow(STRANGER, () => undefined), 'FLOOD_ALLOCATE');
    await bed.lease(OTHER);
    assert.equal(await bed.follow(OTHER, () => undefined), 'follows');
    await (await bed.allocations()).release({ id: '', key: 'k' }, { uid: STRANGER, process: undefined });
    await bed.lease(0);
    for (let nth = 0; nth < 16; nth += 1) assert.equal(await bed.follow(0, () => undefined), 'follows');
  });
});
