import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkOwner } from '../../../src/admission/caller.js';
import type { Admitter } from '../../../src/model/registration.js';
import { Claims } from '../../../src/reconcile/claims.js';
import { FakeHandler, ReconcileWorld } from '../../support/reconcile-world.js';

/** A promise that a test settles. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** A world whose admission asks who has the name, as the real one does. @param before what a socket waits for in admission */
function worldWithOwners(before: ReadonlyMap<string, Promise<void>> = new Map()): ReconcileWorld {
  const admit: Admitter['admit'] = async (request) => {
    await before.get(request.endpoint);
    const verdict = world.admit(request);
    if (!verdict.admitted) return verdict;
    const claims = new Claims(world.roster, { isDeregistered: () => false }, (uid) => uid);
    const { name, type, pulled } = request;
    const except = pulled ? world.sockets.keyAt(request.endpoint) : undefined;
    const { uid } = verdict.listener;
    const recheck = () =>
      checkOwner({ name, newcomer: uid, ruleUids: undefined, owner: claims.owner(type, name, except) });
    const refusal = recheck();
    return refusal === undefined ? { ...verdict, recheck } : { admitted: false, refusal };
  };
  const world: ReconcileWorld = new ReconcileWorld({ admit, graceMs: 60_000 });
  return world;
}

describe('a name that root takes while a plugin of another user is being asked', () => {
  /** Uid 4001 registers and does not answer yet; root registers before or after it, and serves. */
  async function raced(whoIsFirst: 'root' | '4001') {
    const [entry, answer] = [gate(), gate()];
    const world = worldWithOwners(new Map([['/d/root', entry.opened]]));
    const root = world.sockets.put('/d/root');
    const thief = world.sockets.put('/d/thief', { uid: 4001 });
    world.handler.onRegister = ({ socket }) => (socket.path === thief.path ? answer.opened : undefined);
    const early = whoIsFirst === 'root' ? world.register(root) : undefined;
    const stolen = world.register(thief);
    await world.clock.settle();
    assert.equal(world.stateOf(thief), 'connecting registering');
    entry.open();
    assert.equal((await (early ?? world.register(root))).ok, true);
    world.list(root, 4);
    return { world, root, thief, stolen, answer };
  }

  for (const whoIsFirst of ['root', '4001'] as const)
    it(`stays with root when ${whoIsFirst} called first, and nothing of the other stays`, async () => {
      const { world, root, thief, stolen, answer } = await raced(whoIsFirst);
      answer.open();
      const outcome = await stolen;
      assert.equal(!outcome.ok && outcome.refusal.code, 'NAME_OWNED');
      world.list(thief, 9);
      assert.equal(world.stateOf(thief), 'rejected NAME_OWNED');
      assert.deepEqual(world.handler.deregistered, [[world.idOf(thief), 'deregistered']]);
      assert.deepEqual([world.stateOf(root), world.resource()?.allocatable], ['ready registered', 4]);
      assert.deepEqual([world.handler.sessions.size, world.sockets.openPins], [1, 1]);
    });

  it('stays with root while its plugin is inside its grace', async () => {
    const { world, root, stolen, answer } = await raced('root');
    world.kill(root);
    answer.open();
    const outcome = await stolen;
    assert.equal(!outcome.ok && outcome.refusal.code, 'NAME_OWNED');
    assert.equal(world.stateOf(root), 'held connection-lost');
  });

  it('leaves one that may come back as it was', async () => {
    const world = worldWithOwners();
    const answer = gate();
    const thief = world.sockets.put('/d/thief', { uid: 4001 });
    await world.register(thief);
    world.list(thief);
    world.lose(thief, { reason: 'not-answering', message: 'does not answer' });
    world.handler.onRegister = ({ socket }) => (socket.path === thief.path ? answer.opened : undefined);
    const again = world.register(thief);
    await world.clock.settle();
    const root = world.sockets.put('/d/root');
    await world.register(root);
    answer.open();
    const outcome = await again;
    assert.equal(!outcome.ok && outcome.refusal.code, 'NAME_OWNED');
    assert.deepEqual(world.handler.deregistered, [[world.idOf(thief), 'not-answering']]);
    assert.equal(world.stateOf(thief), 'held not-answering');
  });
});

describe('root, which takes a name from another user', () => {
  it('is the newest, although that one registered once more while root was on the way', async () => {
    const entry = gate();
    const world = worldWithOwners(new Map([['/d/root', entry.opened]]));
    const root = world.sockets.put('/d/root');
    const taken = world.register(root);
    await world.clock.settle();
    const squatter = world.sockets.put('/d/squatter', { uid: 4001 });
    assert.equal((await world.register(squatter)).ok, true);
    world.list(squatter, 9);
    entry.open();
    assert.equal((await taken).ok, true);
    world.list(root, 4);
    assert.deepEqual([world.stateOf(root), world.stateOf(squatter)], ['ready registered', 'held replaced']);
    assert.equal(world.resource()?.allocatable, 4);
  });
});

describe('the line of registrations for one name', () => {
  it('has one place for each ordinary user, so that root waits for one answer of each', async () => {
    const handler = new FakeHandler('CSIPlugin');
    handler.serialBy = 'plugin';
    const world = new ReconcileWorld({ handler });
    const answer = gate();
    handler.onRegister = ({ socket }) => (socket.uid === 0 ? undefined : answer.opened);
    const [first, ...more] = [1, 2, 3].map((nth) => world.sockets.put(`/p/${String(nth)}`, { uid: 4001 }));
    assert.ok(first);
    const slow = world.register(first);
    await world.clock.settle();
    for (const socket of more) {
      const outcome = await world.register(socket);
      assert.deepEqual(!outcome.ok && { code: outcome.refusal.code, retryAfterMs: outcome.refusal.retryAfterMs }, {
        code: 'BUSY',
        retryAfterMs: 1000,
      });
    }
    const other = world.register(world.sockets.put('/p/other', { uid: 4002 }));
    const root = world.sockets.put('/p/root');
    const owner = world.register(root);
    const again = world.register(world.sockets.put('/p/root-2'));
    await world.clock.settle();
    answer.open();
    const outcomes = await Promise.all([slow, other, owner, again]);
    assert.deepEqual(
      outcomes.map(({ ok }) => ok),
      [true, true, true, true],
    );
    assert.equal((await world.register(more[0] ?? first)).ok, true, 'its place is free again');
  });
});
