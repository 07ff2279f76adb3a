// Lives of plugins and of the broker by chance, on fakes: whatever happens, after things calm down the roster matches the
// sockets that are there.
import assert from 'node:assert/strict';
import { seededRandom } from './seeded-random.js';
import { isConnected, isReplaced } from '../../src/model/instance.js';
import { CoreWorld, type FakeProcess } from './core-world.js';

const NAMES = ['example.com/x', 'example.com/y'];
const FILES = 6;
const REATTACH = ['stream', 'probe', 'recycle'] as const;
/** Long enough for restart.settle, the grace, the longest backoff, and what follows from them. */
const CALM_MS = 400_000;

/** The names that a socket has now. */
function namesOf({ sockets }: CoreWorld, { socket }: FakeProcess): string[] {
  return sockets.paths().filter((path) => sockets.keyAt(path) === socket.key);
}

type Step = (world: CoreWorld, one: FakeProcess, pick: <T>(from: readonly T[]) => T) => unknown;

const STEPS: Readonly<Record<string, Step>> = {
  register: (world, one) => void world.register(one),
  'register again': (world, one) => void world.register(one),
  list: (world, one) => world.list(one, 3),
  goodbye: async (world, one) => {
    await world.list(one, 0);
    await world.end(one);
  },
  end: (world, one) => world.end(one),
  kill: (world, one) => world.kill(one),
  freeze: (_, one) => (one.isFrozen = true),
  thaw: (_, one) => (one.isFrozen = false),
  break: (_, one) => (one.isBroken = true),
  mend: (_, one) => (one.isBroken = false),
  remove: (world, one) => world.sockets.remove(one.socket.path),
  'a further name': (world, one) => {
    const [name] = namesOf(world, one);
    if (name?.includes('registry') === true) world.sockets.link(`${one.socket.path}-${name.slice(-1)}`, one.socket);
  },
  'a name goes': (world, one, pick) => {
    const names = namesOf(world, one);
    if (names.length > 0) world.sockets.remove(pick(names));
  },
  look: (world) => world.core.lifecycle.checkPaths(),
  rescan: (world) => world.discovery.rescan(),
  wait: (world) => world.clock.advance(2000),
  'wait long': (world) => world.clock.advance(40_000),
  quarantine: (world, one) => world.quarantine(one, true),
  pardon: (world, one) => world.quarantine(one, false),
  close: (world, one) => world.deregister(one.name),
  'kubelet.sock is made anew': (world) => world.core.settling.kubeletSocketRemade(),
  reload: (world, _, pick) => (world.policy = { ...world.policy, reattach: pick(REATTACH) }),
};

/**
 * Walks, calms down, compares.
 *
 * @param events how many
 * @returns the last life of the broker, for those who look further
 */
export async function walk(seed: number, events: number): Promise<CoreWorld> {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;
  let world = new CoreWorld();
  const happened: string[] = [];
  await world.open();
  for (let at = 0; at < events; at += 1) {
    const there = [...world.processes.values()].slice(-2 * FILES);
    const what = there.length === 0 || random.next() < 0.08 ? 'start' : pick([...Object.keys(STEPS), 'restart']);
    happened.push(what);
    if (what === 'start') {
      const door = random.next() < 0.4 ? 'watcher' : 'register';
      world.start(`f${String(Math.floor(random.next() * FILES))}`, pick(NAMES), door);
    } else if (what === 'restart') {
      world = await world.reborn();
    } else {
      await STEPS[what]?.(world, pick(there), pick);
    }
    await world.clock.settle();
  }
  await calmDown(world);
  matches(world, `seed ${String(seed)}: ${happened.slice(-60).join(', ')}`);
  return world;
}

/** Everybody who lives answers, nobody is kept out, and time passes. */
async function calmDown(world: CoreWorld): Promise<void> {
  world.policy = { ...world.policy, reattach: 'stream' };
  for (const one of world.processes.values()) Object.assign(one, { isFrozen: false, isBroken: false, isFickle: false });
  for (const one of world.processes.values()) world.quarantine(one, false);
  await world.clock.advance(CALM_MS);
}

/** The roster and the sockets that are there tell the same. */
function matches(world: CoreWorld, story: string): void {
  for (const instance of world.core.roster.all()) {
    const { id, state, reason, socketKey } = instance;
    const about = `${id} is ${state} (${reason}): ${story}`;
    const isPassing = state === 'connecting' || state === 'restored' || state === 'quarantined';
    assert.ok(!isPassing && (state !== 'held' || isReplaced(instance)), about);
    if (instance.door === 'watcher' && isConnected(instance))
      assert.equal(world.sockets.keyAt(instance.socketPath), socketKey, `not at its path: ${about}`);
    const listens = world.processes.get(socketKey)?.socket.listener !== undefined;
    if (state !== 'gone' && state !== 'rejected') assert.ok(listens, `nobody listens: ${about}`);
  }
  for (const one of world.processes.values()) {
    const { listener, path, key } = one.socket;
    const isThere = listener !== undefined && namesOf(world, one).length > 0;
    const instance = world.of(one);
    const isIn = instance !== undefined && isConnected(instance);
    assert.ok(!(world.tombstones.has(key) && isIn), `${path} serves, and an operator keeps it out: ${story}`);
    if (!isThere || (instance === undefined && !path.includes('registry'))) continue;
    // A plugin that said goodbye or is kept out by an operator stays out, when its entry has made room for others, too; a
    // predecessor has a successor.
    const last = instance ?? world.changes.findLast((change) => change.instance.socketKey === key)?.to;
    const isOut = world.tombstones.has(key) || (last?.state === 'gone' && last.reason !== 'grace-over');
    if (isOut || instance?.state === 'rejected') continue;
    const serves = world.core.roster.ofPlugin('DevicePlugin', one.name).some(isConnected);
    assert.ok(serves, `${path} listens, and nobody serves ${one.name}: ${story}`);
  }
  for (const [name, { allocatable }] of world.core.offered.all()) {
    const serves = world.core.roster.ofPlugin('DevicePlugin', name).some(isConnected);
    assert.ok(serves || allocatable === 0, `${name} is allocatable and nobody serves it: ${story}`);
  }
}
