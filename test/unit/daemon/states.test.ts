import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { seededRandom } from '../../support/seeded-random.js';
import { PLUGIN_STATES } from '../../../src/model/plugin.js';
import { MAY_BECOME, MAY_BEGIN } from '../../../src/reconcile/transitions.js';
import { CoreWorld, type FakeProcess } from '../../support/core-world.js';
import { buildRoot } from '../../support/dist.js';

/** The arrows of the drawing, as `from --> to`. */
function drawn(): string[] {
  const text = readFileSync(path.join(buildRoot(), 'ARCHITECTURE.md'), 'utf8');
  const drawing = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  return [...drawing.matchAll(/^ *(\S+) --> (\S+) : \S/gm)].map(([, from = '', to = '']) => `${from} --> ${to}`);
}

/** A plugin that is restored and answered before kubelet.sock was re-created. */
async function restored(world: CoreWorld, file = 'a'): Promise<FakeProcess> {
  const one = world.start(file);
  world.restore(one);
  await world.open();
  return one;
}

async function registered(world: CoreWorld, file = 'a'): Promise<FakeProcess> {
  const one = world.start(file);
  await world.register(one);
  await world.list(one, 2);
  return one;
}

/** A plugin that is being asked and does not answer, while something happens to it. */
async function asked(world: CoreWorld, happens: (one: FakeProcess) => void): Promise<FakeProcess> {
  const one = world.start('a');
  one.isFrozen = true;
  const registering = world.register(one);
  await world.clock.settle();
  happens(one);
  await world.clock.advance(20_000);
  await registering;
  return one;
}

/** The stories that make each arrow. */
const STORIES: [arrows: readonly string[], story: (world: CoreWorld) => Promise<unknown>][] = [
  [
    ['[*] --> connecting', 'connecting --> ready', 'ready --> gone', 'gone --> connecting'],
    async (world) => {
      const one = await registered(world);
      await world.list(one, 0);
      await world.end(one);
      await world.register(one);
    },
  ],
  [
    ['connecting --> rejected', 'rejected --> connecting'],
    async (world) => {
      const one = world.start('a');
      one.isBroken = true;
      await world.register(one);
      await world.register(one);
    },
  ],
  [
    ['connecting --> gone'],
    (world) => asked(world, ({ name }) => world.core.operatorActions.closeAll('DevicePlugin', name)),
  ],
  [
    ['connecting --> held'],
    (world) =>
      asked(world, (one) => {
        const id = world.of(one)?.id ?? '';
        // As a handler says it whose plugin hangs up before it is registered.
        world.core.reports.report(id, { state: 'held', reason: 'connection-lost', message: 'it hung up' });
      }),
  ],
  [
    ['connecting --> quarantined', 'quarantined --> ready'],
    async (world) => {
      const one = await asked(world, (each) => world.quarantine(each, true));
      one.isFrozen = false;
      world.quarantine(one, false);
      await world.clock.advance(0);
    },
  ],
  [
    ['held --> gone'],
    async (world) => {
      await world.kill(await registered(world));
      await world.clock.advance(30_000);
    },
  ],
  [
    ['[*] --> restored', 'restored --> ready', 'ready --> restored', 'restored --> held'],
    async (world) => {
      await world.kill(await restored(world));
      await world.clock.advance(60_000);
    },
  ],
  [
    ['restored --> gone'],
    async (world) => {
      const one = world.start('a');
      world.restore(one);
      world.core.operatorActions.closeAll('DevicePlugin', one.name);
    },
  ],
  [
    ['restored --> quarantined', 'quarantined --> held'],
    async (world) => {
      const one = world.start('a');
      world.restore(one);
      world.quarantine(one, true);
      await world.kill(one);
      world.quarantine(one, false);
      await world.clock.advance(0);
    },
  ],
  [
    ['ready --> held', 'held --> ready', 'ready --> quarantined', 'quarantined --> gone'],
    async (world) => {
      const one = await registered(world);
      await world.end(one);
      await world.clock.advance(0);
      world.quarantine(one, true);
      world.core.operatorActions.closeAll('DevicePlugin', one.name);
    },
  ],
  [
    ['held --> quarantined'],
    async (world) => {
      const one = await registered(world);
      await world.kill(one);
      world.quarantine(one, true);
    },
  ],
  [
    ['[*] --> held', 'held --> connecting'],
    async (world) => {
      const [old, young] = [world.start('old'), world.start('young')];
      world.restore(old, { state: 'held', reason: 'replaced', isServing: false });
      world.restore(young);
      await world.open();
      world.quarantine(young, true);
      await world.clock.advance(0);
      assert.equal(world.of(old)?.state, 'ready');
    },
  ],
  [
    ['ready --> orphaned', 'orphaned --> ready'],
    async (world) => {
      const one = await registered(world);
      world.start('a', 'example.com/thief');
      world.core.lifecycle.checkPaths();
      world.sockets.link(one.socket.path, one.socket);
      world.core.lifecycle.checkPaths();
    },
  ],
  [
    ['orphaned --> held', 'orphaned --> quarantined', 'orphaned --> gone'],
    async (world) => {
      for (const [file, end] of [
        ['a', (one: FakeProcess) => world.kill(one)],
        ['b', (one: FakeProcess) => world.quarantine(one, true)],
        ['c', (one: FakeProcess) => world.core.operatorActions.closeAll('DevicePlugin', one.name)],
      ] as const) {
        const one = await registered(world, file);
        world.start(file, 'example.com/thief');
        world.core.lifecycle.checkPaths();
        await end(one);
      }
    },
  ],
  [
    ['orphaned --> restored'],
    async (world) => {
      const one = await restored(world);
      world.start('a');
      world.core.lifecycle.checkPaths();
      await world.end(one, 14);
    },
  ],
];

const STEPS: Record<string, (world: CoreWorld, one: FakeProcess) => unknown> = {
  start: () => undefined,
  register: (world, one) => void world.register(one),
  'register again': (world, one) => void world.register(one),
  list: (world, one) => world.list(one, 3),
  'empty list': (world, one) => world.list(one, 0),
  end: (world, one) => world.end(one),
  kill: (world, one) => world.kill(one),
  freeze: (_, one) => (one.isFrozen = true),
  thaw: (_, one) => (one.isFrozen = false),
  break: (_, one) => (one.isBroken = true),
  mend: (_, one) => (one.isBroken = false),
  fickle: (_, one) => (one.isFickle = !one.isFickle),
  remove: (world, one) => world.sockets.remove(one.socket.path),
  look: (world) => world.core.lifecycle.checkPaths(),
  rescan: (world) => world.discovery.rescan(),
  wait: (world) => world.clock.advance(3000),
  'wait long': (world) => world.clock.advance(45_000),
  quarantine: (world, one) => world.quarantine(one, true),
  pardon: (world, one) => world.quarantine(one, false),
  close: (world, one) => world.core.operatorActions.closeAll('DevicePlugin', one.name),
};

/** Forty steps of three sockets at both doors, after a restart or not. */
async function wander(world: CoreWorld, seed: number): Promise<string> {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;
  world.policy = { ...world.policy, reattach: pick(['stream', 'probe', 'recycle']) };
  const all: FakeProcess[] = [];
  const start = (): FakeProcess => {
    const door = random.next() < 0.4 ? 'watcher' : 'register';
    const one = world.start(`f${String(all.length % 3)}`, 'example.com/x', door);
    all.push(one);
    return one;
  };
  if (random.next() < 0.5) {
    world.restore(start(), { isHint: random.next() < 0.3 });
    if (random.next() < 0.5) world.restore(start(), { state: 'held', reason: 'replaced', isServing: false });
  }
  await world.open();
  const steps: string[] = [];
  for (let at = 0; at < 40; at += 1) {
    const what = pick(Object.keys(STEPS));
    if (all.length === 0 || what === 'start') start();
    steps.push(what);
    await STEPS[what]?.(world, pick(all));
    await world.clock.settle();
  }
  await world.clock.advance(60_000);
  return steps.join(', ');
}

describe('a plugin that allows no second stream and is lost the moment it was taken back', () => {
  it('is held, and taken back when it lasts', async () => {
    const world = new CoreWorld();
    world.policy = { ...world.policy, reattach: 'probe', graceMs: 600_000 };
    const one = await registered(world);
    one.isFickle = true;
    await world.end(one);
    await world.clock.advance(0);
    assert.equal(world.stateOf(one), 'held connection-lost');
    assert.equal(one.connections.filter(({ isClosed }) => !isClosed).length, 0);
    one.isFickle = false;
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(one), 'ready list-unwatched');
    assert.deepEqual(world.counts(), [2, 2]);
    await world.stop();
  });
});

describe('a predecessor that is asked in vain when its successor is lost', () => {
  it('stays the fallback, is asked again until it answers, and is over when nobody listens on it', async () => {
    const world = new CoreWorld();
    world.policy = { ...world.policy, graceMs: 600_000 };
    const [old, young] = [await registered(world, 'old'), await registered(world, 'young')];
    old.isBroken = true;
    await world.kill(young);
    await world.clock.advance(100);
    assert.equal(world.stateOf(old), 'held replaced');
    old.isBroken = false;
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(old), 'ready confirmed');
    const third = await registered(world, 'third');
    old.isBroken = true;
    await world.kill(third);
    old.socket.listener = undefined;
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(old), 'gone replaced');
    await world.stop();
  });
});

describe('the drawing of states in ARCHITECTURE.md', () => {
  const arrows = drawn();

  for (const [told, story] of STORIES) {
    it(`has ${told.join(', ')}`, async () => {
      const world = new CoreWorld();
      await story(world);
      for (const arrow of told) assert.ok(world.transitions.has(arrow), `${arrow} did not happen`);
      for (const arrow of world.transitions) assert.ok(arrows.includes(arrow), `${arrow} is not drawn`);
      await world.stop();
    });
  }

  it('is the table by which the roster decides what an instance may become', () => {
    const begin = MAY_BEGIN.map((to) => `[*] --> ${to}`);
    const table = PLUGIN_STATES.flatMap((from) => MAY_BECOME[from].map((to) => `${from} --> ${to}`));
    assert.deepEqual([...arrows].sort(), [...begin, ...table].sort());
  });

  it('has no arrow that nothing makes', () => {
    const told = STORIES.flatMap(([each]) => each);
    assert.deepEqual([...arrows].sort(), [...told].sort());
  });

  it('has every arrow that any life makes; and when all is over nothing is held, nothing waits', async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const world = new CoreWorld();
      const steps = await wander(world, seed);
      for (const arrow of world.transitions) assert.ok(arrows.includes(arrow), `${arrow} is not drawn: ${steps}`);
      const open = [...world.processes.values()].flatMap(({ connections }) => connections).filter((c) => !c.isClosed);
      const ready = [...world.core.roster.all()].filter(({ state }) => state === 'ready' || state === 'orphaned');
      assert.ok(open.length >= ready.length, `an instance is ready without a connection: ${steps}`);
      await world.stop();
      const left = open.filter(({ isClosed }) => !isClosed).length;
      assert.deepEqual(
        [world.sockets.openPins, world.clock.pending, left],
        [0, 0, 0],
        `seed ${String(seed)}: ${steps}`,
      );
    }
  });
});
