// One life of an allocator on a real disk, which kills itself with SIGKILL at the nth thing that it does, or after so many
// milliseconds: node lease-crash-process.js ROOT SEED N|tMS. What was told to whom stands in `told` beside it; the next life
// checks first that all of that is still true. Ends with 0 when nothing killed it, with 1 and the violation otherwise.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { LeaseFiles } from '../../src/cdi/lease-files.js';
import type { RawRequest } from '../../src/allocation/request.js';
import type { FilePort, OpenFile } from '../../src/checkpoint/file-port.js';
import { seededRandom } from './seeded-random.js';
import { cdiDirectory } from '../../src/platform/fs/cdi-directory.js';
import { lookAtHost } from '../../src/platform/fs/host-node.js';
import { rootIdentity } from '../../src/platform/fs/root-identity.js';
import { owners } from '../../src/platform/peer/owners.js';
import { procStat } from '../../src/platform/process/proc-stat.js';
import { nodeFiles } from '../../src/platform/store/node-files.js';
import { systemClock } from '../../src/platform/time/system-clock.js';
import { allocationWorld, FakeMachine } from './allocation-world.js';
import { checkpointRig } from './checkpoint-rig.js';
import { NO_ANSWER } from './leases.js';

/** A line of `told`: a lease was given, given again to its key, is about to be given back, or was given back. */
interface Told {
  readonly what: 'given' | 'again' | 'releasing' | 'released';
  readonly id: string;
  readonly ids: readonly string[];
  /** Bound to the life that asked, instead of to a key. */
  readonly isProcess: boolean;
}

/** The news of a request with a key, in a line of `told`: it is made, or its owner knows the outcome. */
interface Asked {
  readonly what: 'asking' | 'answered';
  readonly request: RawRequest;
}

const STEPS = 12;
const [root = '', seed = '1', when = '0'] = process.argv.slice(2);
const state = path.join(root, 'state');
const cdi = path.join(root, 'cdi');
const toldFile = path.join(root, 'told');
mkdirSync(state, { recursive: true });

let done = 0;
const killAt = when.startsWith('t') ? Infinity : Number(when);
if (when.startsWith('t')) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(when.slice(1)));

/** A failpoint: nothing after it happens in this life. */
async function point(): Promise<void> {
  done += 1;
  if (done !== killAt) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => undefined);
}

/** The same object with a failpoint before and after each of its operations. */
function mortal<T extends object>(target: T): T {
  return new Proxy(target, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        await point();
        const result = (await Reflect.apply(value, of, args)) as unknown;
        await point();
        const isFile = name === 'create' || name === 'append';
        return isFile ? mortal(result as OpenFile) : result;
      };
    },
  });
}

// The clock's alarms keep no process alive, and an allocator may wait for nothing else; a daemon has its sockets.
setInterval(() => undefined, 1000);

const random = seededRandom(Number(seed));
const pick = (below: number): number => Math.floor(random.next() * below);
const machine = new FakeMachine();
for (const [name, count] of [
  ['v/gpu', 6],
  ['v/nic', 4],
] as const) {
  const resource = machine.offer(name, ...Array.from({ length: count }, (_, index) => `${name}-${String(index)}`));
  resource.allocate = async (ids) => {
    await point();
    return { ...NO_ANSWER, envs: new Map([[`IDS_${name.slice(2)}`, answerFor(ids)]]) };
  };
}
/** The answer of a plugin for these devices: for half of them too long for the checkpoint itself. */
function answerFor(ids: readonly string[]): string {
  return `${ids.join(',')},`.repeat(/[13579]$/.test(ids[0] ?? '') ? 200 : 1);
}
const { store } = checkpointRig(mortal<FilePort>(nodeFiles), state, systemClock);
const opened = await store.open();
for (const record of store.contents.leases.values()) machine.disk.set(record.id, record);
const files = new LeaseFiles({
  directory: mortal(cdiDirectory(cdi)),
  look: lookAtHost,
  kind: 'plugin-broker/lease',
  clock: systemClock,
  ownUid: 0,
  userOf: (uid) => uid,
  degraded: () => undefined,
  origin: { root: rootIdentity(root), boot: 'boot-1' },
});
const { allocations } = await allocationWorld(
  machine,
  {
    cdi: files,
    owners,
    clock: systemClock,
    random,
    store: {
      get mayWrite() {
        return store.mayWrite;
      },
      expect: () => store.expect(),
      isKept: () => store.isKept(),
      put: async (record) => (await store.update((draft) => draft.putLease(record))) === 'durable',
      remove: async (id) => (await store.update((draft) => draft.removeLease(id))) === 'durable',
      setLedger: async (ledger) => (await store.update((draft) => draft.setLedger(ledger))) === 'durable',
    },
  },
  opened.ledger,
);
const devicesOf = (id: string): readonly string[] | undefined =>
  allocations
    .leases()
    .find((lease) => lease.id === id)
    ?.granted.flatMap(({ devices }) => devices.map((device) => device.id));
await allocations.keeper.placeFiles();
await allocations.keeper.removeLeftovers();

check();
await askAgain();
check();
await live();
allocations.stop();
await store.flush(2000);
process.exit(0);

/** Everything that was told is still so, no device is in two leases, and each lease has its file. */
function check(): void {
  assert.equal(opened.ledger, 'ok', 'the ledger is known after a kill');
  const ids = allocations.leases().flatMap(({ id }) => devicesOf(id) ?? []);
  assert.equal(new Set(ids).size, ids.length, `a device is in two leases: ${ids.join(' ')}`);
  const last = new Map<string, Told>();
  for (const told of allTold()) {
    if ('request' in told) continue;
    last.set(told.id, { ...told, ids: told.ids.length > 0 ? told.ids : (last.get(told.id)?.ids ?? []) });
  }
  for (const { what, id, ids: given, isProcess } of last.values()) {
    const now = devicesOf(id);
    if (what === 'released' || isProcess) assert.equal(now, undefined, `lease ${id} is over and came back`);
    else if (what === 'given' || what === 'again') assert.deepEqual(now, given, `lease ${id} was told and is lost`);
  }
  for (const { id, answer, granted } of allocations.leases()) {
    for (const { resource, devices } of granted) {
      const said = answer.envs.get(`IDS_${resource.slice(2)}`);
      assert.equal(said, answerFor(devices.map((device) => device.id)), `the answer of lease ${id} is another one`);
    }
  }
  // The directory is made with the first file: a machine whose first lives ended before it has none yet.
  const names = existsSync(cdi) ? readdirSync(cdi) : [];
  const named = names.map((name) => /_([0-9a-z]{26})\.json$/.exec(name)?.[1] ?? name);
  assert.deepEqual(
    named.sort(),
    allocations
      .leases()
      .map(({ id }) => id)
      .sort(),
    'one CDI file for each lease',
  );
}

/** Lines of all lives. */
function allTold(): (Told | Asked)[] {
  const lines = existsSync(toldFile) ? readFileSync(toldFile, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line) as Told | Asked);
}

/** An owner that was killed before the answer to a request with a key makes it again: the recorded lease is given, not another. */
async function askAgain(): Promise<void> {
  const open = new Map<string, RawRequest>();
  for (const told of allTold()) {
    if (!('request' in told)) continue;
    if (told.what === 'asking') open.set(told.request.key, told.request);
    else open.delete(told.request.key);
  }
  for (const request of open.values()) {
    const lease = allocations.leases().find(({ key }) => key === request.key);
    if (lease === undefined) continue; // it was not recorded, and nobody was told
    const { id } = lease;
    const ids = devicesOf(id) ?? [];
    const result = await allocations.allocate(request, { uid: 0, process: undefined }, new AbortController().signal);
    assert.ok(result.ok, `key ${request.key} has lease ${id}, and is refused`);
    assert.deepEqual([result.value.id, devicesOf(result.value.id)], [id, ids], 'the same key has the same devices');
    tell({ what: 'again', id, ids, isProcess: false });
    tell({ what: 'answered', request });
  }
}

async function live(): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    const isTwo = pick(3) === 0;
    await Promise.all(Array.from({ length: isTwo ? 2 : 1 }, act));
  }
}

async function act(): Promise<void> {
  const [lease] = allocations.leases().slice(pick(Math.max(1, allocations.leases().length)));
  if (lease !== undefined && pick(5) < 2) {
    tell({ what: 'releasing', id: lease.id, ids: [], isProcess: lease.owner.bind === 'process' });
    await allocations.release({ id: lease.id, key: '' }, { uid: 0, process: undefined });
    tell({ what: 'released', id: lease.id, ids: [], isProcess: lease.owner.bind === 'process' });
    return;
  }
  const isProcess = pick(4) === 0;
  const wants: RawRequest['wants'] = [
    { resource: 'v/gpu', count: 1 + pick(2), ids: [], numa: '' },
    ...(pick(3) === 0 ? [{ resource: 'v/nic', count: 1, ids: [], numa: '' }] : []),
  ];
  const self = { pid: process.pid, startTime: procStat(process.pid)?.startTime ?? '' };
  const key = isProcess ? '' : `${String(process.pid)}-${String(done)}-${String(pick(1e9))}`;
  const request = { wants, owner: undefined, key, ttlMs: 0, waitMs: 0 };
  if (!isProcess) tell({ what: 'asking', request });
  const result = await allocations.allocate(request, { uid: 0, process: self }, new AbortController().signal);
  if (result.ok) {
    const ids = result.value.granted.flatMap(({ devices }) => devices.map(({ id }) => id));
    tell({ what: 'given', id: result.value.id, ids, isProcess });
  }
  if (!isProcess) tell({ what: 'answered', request });
}

/** In the page cache, which no kill takes away. */
function tell(told: Told | Asked): void {
  appendFileSync(toldFile, `${JSON.stringify(told)}\n`);
}
