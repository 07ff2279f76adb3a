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

/**
 * A world whose admission asks who has the name, as the real one does.
 *
 * @param before what a socket waits for in admission
 * @param uids those that a rule names
 */
function worldWithOwners(
  before: ReadonlyMap<string, Promise<void>> = new Map(),
  uids?: readonly number[],
): ReconcileWorld {
  const admit: Admitter['admit'] = async (request) => {
    await before.get(request.endpoint);
    const verdict = world.admit(request);
    if (!verdict.admitted) return verdict;
    const claims = new Claims(world.roster, { isDeregistered: () => false }, (uid) => uid);
    const { name, type, pulled } = request;
    const except = pulled ? world.sockets.keyAt(request.endpoint) : undefined;
    const { uid } = verdict.listener;
    const recheck = () => checkOwner({ name, newcomer: uid, ruleUids: uids, owner: claims.owner(type, name, except) });
    const refusal = recheck();
    if (refusal !== undefined) return { admitted: false, refusal };
    return { ...verdict, recheck, policy: { ...verdict.policy, uids } };
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

  it('is refused to another for the time being, not for good, while the plugin of root was not confirmed after a restart', async () => {
    const world = worldWithOwners();
    const root = world.sockets.put('/d/root');
    await world.register(root);
    world.reports.report(world.idOf(root), { state: 'restored', reason: 'settling', message: 'restarts itself' });
    const outcome = await world.register(world.sockets.put('/d/other', { uid: 65_532 }));
    assert.ok(!outcome.ok);
    assert.deepEqual([outcome.refusal.code, outcome.refusal.isPassing], ['NAME_OWNED', true]);
  });

  it('stays with root while its plugin is inside its grace', async () => {
    const { world, root, stolen, answer } = await raced('root');
    world.kill(root);
    answer.open();
    const outcome = await stolen;
    assert.equal(!outcome.ok && outcome.refusal.code, 'NAME_OWNED');
    assert.equal(world.stateOf(root), 'held connection-lost');
  });

  it('lets one that did not answer come back by a pull, because its session ended with its call', async () => {
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
    assert.equal(world.stateOf(thief), 'held connection-lost');
    assert.equal(world.reconciler.has(world.idOf(thief), thief.key), true);
  });

  it('is not left with one that is ready and has no session', async () => {
    const world = worldWithOwners();
    const answer = gate();
    const thief = world.sockets.put('/d/thief', { uid: 4001 });
    await world.register(thief);
    world.list(thief, 9);
    world.handler.onRegister = async ({ socket }, handle) => {
      if (socket.path !== thief.path) return;
      await answer.opened;
      handle.report({ state: 'ready', reason: 'list-unwatched', message: 'alive; its last list is kept' });
      handle.serving();
    };
    world.lose(thief);
    await world.clock.settle();
    const root = world.sockets.put('/d/root');
    assert.equal((await world.register(root)).ok, true);
    answer.open();
    await world.clock.settle();
    assert.deepEqual([world.handler.sessions.size, world.stateOf(thief)], [1, 'held connection-lost']);
    assert.equal(world.reconciler.has(world.idOf(thief), thief.key), true);
    world.list(root, 4);
    assert.deepEqual([world.stateOf(root), world.stateOf(thief)], ['ready registered', 'held replaced']);
    assert.equal(world.resource()?.allocatable, 4);
  });

  it('leaves a fallback one, to be asked again', async () => {
    const world = worldWithOwners();
    const answer = gate();
    const fallback = world.sockets.put('/d/fallback', { uid: 4001 });
    await world.register(fallback);
    world.list(fallback);
    const root = world.sockets.put('/d/root');
    await world.register(root);
    world.list(root);
    assert.equal(world.stateOf(fallback), 'held replaced');
    world.handler.deregistered.length = 0;
    world.handler.onRegister = ({ socket }) => (socket.path === fallback.path ? answer.opened : undefined);
    world.kill(root);
    world.reports.report(world.idOf(root), { state: 'gone', reason: 'deregistered', message: 'an operator' });
    await world.clock.settle();
    assert.equal(world.stateOf(fallback), 'connecting registering');
    assert.equal((await world.register(world.sockets.put('/d/root-2'))).ok, true);
    answer.open();
    await world.clock.settle();
    assert.equal(world.stateOf(fallback), 'held replaced');
    assert.deepEqual(world.handler.deregistered.at(-1), [world.idOf(fallback), 'replaced']);
  });
});

describe('a name that root took from a plugin of another user, and lost before its first list', () => {
  /** Uid 4001 is ready without a stream, as its plugin lets the broker ask and does not list again. Root is inside its grace. */
  async function taken() {
    const world = worldWithOwners();
    const squatter = world.sockets.put('/d/squatter', { uid: 4001 });
    world.handler.onRegister = ({ socket }, handle) => {
      if (socket.path !== squatter.path) return;
      handle.report({ state: 'ready', reason: 'list-unwatched', message: 'alive; its last list is kept' });
      handle.serving();
    };
    assert.equal((await world.register(squatter)).ok, true);
    assert.equal(world.stateOf(squatter), 'ready list-unwatched');
    const root = world.sockets.put('/d/root');
    assert.equal((await world.register(root)).ok, true);
    world.kill(root);
    assert.equal(world.stateOf(root), 'held connection-lost');
    return { world, squatter, root };
  }

  for (const [what, other, pulled] of [
    ['registers again', false, false],
    ['is asked again by the broker', false, true],
    ['registers at another socket', true, false],
  ] as const)
    it(`stays with root while that is inside its grace, when the other ${what}`, async () => {
      const { world, squatter, root } = await taken();
      const socket = other ? world.sockets.put('/d/squatter-2', { uid: 4001 }) : squatter;
      const outcome = await world.register(socket, { pulled });
      assert.deepEqual(!outcome.ok && [outcome.refusal.code, outcome.refusal.isPassing], ['NAME_OWNED', true]);
      assert.deepEqual(
        [world.stateOf(root), world.stateOf(squatter)],
        ['held connection-lost', 'ready list-unwatched'],
      );
      world.reports.report(world.idOf(root), { state: 'gone', reason: 'grace-over', message: 'over' });
      assert.equal((await world.register(squatter)).ok, true, 'and is free after it');
    });

  it('is taken up by root again', async () => {
    const { world, squatter } = await taken();
    const root = world.sockets.put('/d/root-2');
    assert.equal((await world.register(root)).ok, true);
    world.list(root, 4);
    assert.deepEqual([world.stateOf(root), world.stateOf(squatter)], ['ready registered', 'held replaced']);
  });
});

/** A plugin whose uid is `later` calls first, and is in admission until it enters; one of uid `sooner` is in before it, with a list. */
async function overtaken({ later, sooner }: { later: number; sooner: number }, uids?: readonly number[]) {
  const entry = gate();
  const world = worldWithOwners(new Map([['/d/slow', entry.opened]]), uids);
  const slow = world.sockets.put('/d/slow', { uid: later });
  const taken = world.register(slow);
  await world.clock.settle();
  const quick = world.sockets.put('/d/quick', { uid: sooner });
  assert.equal((await world.register(quick)).ok, true);
  world.list(quick, 9);
  const enter = async (): Promise<void> => {
    entry.open();
    assert.equal((await taken).ok, true);
    world.list(slow, 4);
  };
  return { world, slow, quick, enter };
}

describe('root, which takes a name from another user', () => {
  it('is the newest, although that one registered once more while root was on the way', async () => {
    const { world, slow: root, quick: squatter, enter } = await overtaken({ later: 0, sooner: 4001 });
    await enter();
    assert.deepEqual([world.stateOf(root), world.stateOf(squatter)], ['ready registered', 'held replaced']);
    assert.equal(world.resource()?.allocatable, 4);
  });

  it('is the newest, although that one has lost its stream by then and is being asked', async () => {
    const { world, slow: root, quick: squatter, enter } = await overtaken({ later: 0, sooner: 4001 });
    const answer = gate();
    world.handler.onRegister = ({ socket }) => (socket.path === squatter.path ? answer.opened : undefined);
    world.lose(squatter);
    await world.clock.settle();
    await enter();
    assert.deepEqual([world.stateOf(root), world.stateOf(squatter)], ['ready registered', 'held replaced']);
    world.kill(root);
    answer.open();
    await world.clock.advance(10_000);
    assert.deepEqual([world.stateOf(root), world.stateOf(squatter)], ['held connection-lost', 'held replaced']);
  });
});

describe('users who may all take a name', () => {
  for (const [old, next] of [
    [1000, 2000],
    [1000, 0],
    [0, 2000],
  ] as const)
    it(`keep their order when uid ${String(old)} called first and uid ${String(next)} is in before it`, async () => {
      const { world, slow, quick, enter } = await overtaken({ later: old, sooner: next }, [1000, 2000]);
      await enter();
      assert.deepEqual([world.stateOf(quick), world.stateOf(slow)], ['ready registered', 'held replaced']);
      assert.equal(world.resource()?.allocatable, 9);
    });
});

describe('the line of registrations for one name', () => {
  it('has one place for each ordinary user', async () => {
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
    await world.clock.settle();
    answer.open();
    const outcomes = await Promise.all([slow, other]);
    assert.deepEqual(
      outcomes.map(({ ok }) => ok),
      [true, true],
    );
    assert.equal((await world.register(more[0] ?? first)).ok, true, 'its place is free again');
  });

  for (const [who, uid, uids] of [
    ['root', 0, undefined],
    ['a user that a rule names', 4003, [4003]],
  ] as const)
    it(`is cleared by ${who}, who waits for no answer of users without a right to the name`, async () => {
      const handler = new FakeHandler('CSIPlugin');
      handler.serialBy = 'plugin';
      const admit: Admitter['admit'] = (request) => {
        const verdict = world.admit(request);
        return Promise.resolve(verdict.admitted ? { ...verdict, policy: { ...verdict.policy, uids } } : verdict);
      };
      const world: ReconcileWorld = new ReconcileWorld({ handler, admit });
      const hanging = gate();
      handler.onRegister = async ({ socket }, _, signal) => {
        if (socket.uid === 0 || socket.uid === 4003) return;
        signal.addEventListener('abort', hanging.open);
        await hanging.opened;
      };
      const [slow, waiting] = [4001, 4002].map((user) =>
        world.register(world.sockets.put(`/p/${String(user)}`, { uid: user })),
      );
      await world.clock.settle();
      const owner = await world.register(world.sockets.put('/p/owner', { uid }));
      assert.equal(owner.ok, true);
      for (const outcome of await Promise.all([slow, waiting]))
        assert.deepEqual(outcome?.ok === false && [outcome.refusal.code, outcome.refusal.retryAfterMs], ['BUSY', 1000]);
      const later = await world.register(world.sockets.put('/p/later', { uid: 4001 }));
      assert.equal(later.ok, true, 'the places are free again');
    });

  it('keeps the place of a user that a rule names from root, who may take the name no more than it', async () => {
    const handler = new FakeHandler('CSIPlugin');
    handler.serialBy = 'plugin';
    const admit: Admitter['admit'] = (request) => {
      const verdict = world.admit(request);
      return Promise.resolve(verdict.admitted ? { ...verdict, policy: { ...verdict.policy, uids: [4003] } } : verdict);
    };
    const world: ReconcileWorld = new ReconcileWorld({ handler, admit });
    const answer = gate();
    handler.onRegister = ({ socket }) => (socket.uid === 4003 ? answer.opened : undefined);
    const slow = world.register(world.sockets.put('/p/named', { uid: 4003 }));
    await world.clock.settle();
    const root = world.register(world.sockets.put('/p/root'));
    const second = await world.register(world.sockets.put('/p/named-2', { uid: 4003 }));
    assert.equal(!second.ok && second.refusal.code, 'BUSY');
    answer.open();
    assert.deepEqual(
      (await Promise.all([slow, root])).map(({ ok }) => ok),
      [true, true],
    );
  });
});
