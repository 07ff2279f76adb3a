import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { CoreWorld, type FakeProcess } from '../../support/core-world.js';
import { buildRoot } from '../../support/dist.js';

/** The states of the table below the drawing in ARCHITECTURE.md, which says when each ends at the latest. */
function tabled(): string[] {
  const text = readFileSync(path.join(buildRoot(), 'ARCHITECTURE.md'), 'utf8');
  const table = /\n\| state +\| ends at the latest[^\n]*\n\|[^\n]*\n((?:\|[^\n]*\n)+)/.exec(text)?.[1] ?? '';
  return [...table.matchAll(/^\| ([^|]+)\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, s = '']) => s),
  );
}

interface Ending {
  readonly state: string;
  readonly when: string;
  /** Brings a plugin there, whose process does nothing any more. */
  readonly reach: (world: CoreWorld) => Promise<FakeProcess>;
  /** How long it stays there when nothing happens. */
  readonly lastsMs: (world: CoreWorld) => number;
  readonly then: string;
}

async function served(world: CoreWorld, file = 'a'): Promise<FakeProcess> {
  const one = world.start(file);
  await world.register(one);
  await world.list(one, 2);
  return one;
}

async function restored(
  world: CoreWorld,
  prepare: (one: FakeProcess) => unknown = () => undefined,
): Promise<FakeProcess> {
  const one = world.start('a');
  world.restore(one);
  prepare(one);
  await world.open();
  return one;
}

const ENDINGS: readonly Ending[] = [
  {
    state: 'connecting',
    when: 'its plugin never answers',
    reach: async (world) => {
      const one = world.start('a');
      one.isFrozen = true;
      void world.register(one);
      await world.clock.settle();
      return one;
    },
    lastsMs: ({ settings }) => settings.timeouts.optionsMs,
    then: 'rejected',
  },
  {
    state: 'restored',
    when: 'its plugin hangs',
    reach: (world) => restored(world, (one) => (one.isFrozen = true)),
    lastsMs: ({ settings }) => settings.restart.deadlineMs,
    then: 'held',
  },
  {
    state: 'restored settling',
    when: 'its plugin ended when kubelet.sock was made again and does not come back',
    reach: async (world) => {
      const one = await restored(world);
      world.sockets.remove(one.socket.path);
      await world.kill(one);
      return one;
    },
    lastsMs: ({ settings }) => settings.restart.settleMs,
    then: 'held',
  },
  {
    state: 'ready',
    when: 'its plugin hangs',
    reach: async (world) => {
      const one = await served(world);
      one.isFrozen = true;
      return one;
    },
    lastsMs: ({ settings: { liveness } }) => (liveness.intervalMs + liveness.timeoutMs) * (liveness.failures + 1),
    then: 'held',
  },
  {
    state: 'ready recycled',
    when: 'its plugin did not see that its socket was removed',
    reach: (world) => {
      world.policy = { ...world.policy, reattach: 'recycle' };
      return restored(world);
    },
    lastsMs: ({ settings }) => settings.restart.settleMs,
    then: 'held',
  },
  {
    state: 'orphaned',
    when: 'the newcomer of the registry at its path never answers and goes',
    reach: async (world) => {
      const one = world.start('a', 'example.com/x', 'watcher');
      await world.open();
      await world.list(one, 2);
      const newcomer = world.start('a', 'example.com/x', 'watcher');
      newcomer.isFrozen = true;
      world.discovery.rescan();
      await world.clock.settle();
      return one;
    },
    lastsMs: ({ settings }) => settings.timeouts.getInfoMs,
    then: 'held',
  },
  {
    state: 'held',
    when: 'its plugin died',
    reach: async (world) => {
      const one = await served(world);
      await world.kill(one);
      return one;
    },
    lastsMs: ({ policy }) => policy.graceMs,
    then: 'gone',
  },
  {
    state: 'quarantined',
    when: 'its plugin died, and its quarantine ends',
    reach: async (world) => {
      const one = await served(world);
      world.quarantine(one, true);
      await world.kill(one);
      void world.clock.advance(10_000).then(() => world.quarantine(one, false));
      return one;
    },
    lastsMs: () => 10_000,
    then: 'held',
  },
];

describe('no state lasts', () => {
  for (const { state, when, reach, lastsMs, then } of ENDINGS) {
    it(`${state}, when ${when}: ${then} in time, and gone or served in the end`, async () => {
      const world = new CoreWorld();
      const one = await reach(world);
      assert.ok(world.stateOf(one).startsWith(state), world.stateOf(one));
      await world.clock.advance(lastsMs(world));
      assert.equal(world.of(one)?.state, then, world.stateOf(one));
      await world.clock.advance(world.policy.graceMs + 1);
      // One that hangs or died is over; one that only did not see what we did is pulled.
      const serves = one.socket.listener !== undefined && !one.isFrozen;
      assert.match(world.stateOf(one), serves ? /^(gone|rejected|ready) / : /^(gone|rejected) /);
      await world.stop();
    });
  }

  it('a fallback ends when nobody listens on it, and when two newer ones are kept', async () => {
    const world = new CoreWorld();
    const all: FakeProcess[] = [];
    for (const file of ['a', 'b', 'c', 'd']) all.push(await served(world, file));
    const states = (): string[] => all.map((one) => world.stateOf(one));
    assert.deepEqual(states(), ['gone replaced', 'held replaced', 'held replaced', 'ready registered']);
    for (const one of all.slice(1, 3)) one.socket.listener = undefined;
    world.core.lifecycle.checkPaths();
    assert.deepEqual(states(), ['gone replaced', 'gone replaced', 'gone replaced', 'ready registered']);
    await world.stop();
  });

  it('and the dead are memories, a few of each plugin', async () => {
    const world = new CoreWorld();
    for (let life = 0; life < 10; life += 1) {
      const one = await served(world);
      world.core.operatorActions.closeAll('DevicePlugin', one.name);
    }
    assert.equal(world.core.roster.size, 3);
    await world.stop();
  });

  it('of all that ARCHITECTURE.md has a line for', () => {
    const tried = new Set([...ENDINGS.map(({ state }) => state.split(' ')[0] ?? ''), 'gone', 'rejected']);
    assert.deepEqual(
      tabled()
        .filter((state) => /^[a-z]+$/.test(state))
        .sort(),
      [...tried].sort(),
    );
  });
});

describe('an operator who de-registers a plugin', () => {
  for (const [when, end] of [
    ['was given up while it hung', (world: CoreWorld, one: FakeProcess) => hangs(world, one)],
    ['took leave and kept its socket', (world: CoreWorld, one: FakeProcess) => takesLeave(world, one)],
  ] as const) {
    it(`keeps out one that ${when}`, async () => {
      const world = new CoreWorld();
      const one = await served(world);
      await end(world, one);
      assert.equal(world.of(one)?.state, 'gone');
      world.deregister(one.name);
      one.isFrozen = false;
      await world.clock.advance(60_000);
      world.core.lifecycle.checkPaths();
      const answer = await world.register(one);
      assert.equal(answer.ok ? 'in' : answer.refusal.code, 'DEREGISTERED');
      assert.equal(world.stateOf(one), 'gone deregistered');
      await world.stop();
    });
  }
});

async function hangs(world: CoreWorld, one: FakeProcess): Promise<void> {
  one.isFrozen = true;
  await world.clock.advance(200_000);
}

async function takesLeave(world: CoreWorld, one: FakeProcess): Promise<void> {
  await world.list(one, 0);
  await world.end(one);
}
