import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Admitter } from '../../../src/model/registration.js';
import type { Refusal } from '../../../src/model/reasons.js';
import { PendingDropped } from '../../../src/reconcile/reconciler.js';
import { FakeHandler, ReconcileWorld } from '../../support/reconcile-world.js';
import type { Attempt } from '../../../src/model/registration.js';

const X = 'example.com/x';

/** A promise that a test settles. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe('an enrolment', () => {
  it('goes from admission through the handler to the roster and the disk, and is answered then', async () => {
    const written: string[] = [];
    const world = new ReconcileWorld({
      persist: (instance) => {
        written.push(`${instance.state} ${instance.id}`);
        return Promise.resolve(true);
      },
    });
    const socket = world.sockets.put('/d/a.sock');
    const outcome = await world.register(socket);
    assert.deepEqual(outcome, { ok: true, instanceId: world.idOf(socket), durable: true });
    assert.deepEqual(written, [`ready ${world.idOf(socket)}`]);
    assert.equal(world.sockets.openPins, 1, 'the record holds its socket, and nobody else does');
  });

  it('says when it is not on disk', async () => {
    const world = new ReconcileWorld({ persist: () => Promise.resolve(false) });
    const outcome = await world.register(world.sockets.put('/d/a.sock'));
    assert.equal(outcome.ok && outcome.durable, false);
  });

  it('that comes again is on disk only where the written entry still is', async () => {
    const answers = [true, false];
    const world = new ReconcileWorld({
      persist: (instance) => Promise.resolve((instance.isDurable = true)),
      isKept: () => Promise.resolve(answers.shift() ?? false),
    });
    const socket = world.sockets.put('/d/a.sock');
    await world.register(socket);
    for (const durable of [true, false]) {
      const again = await world.register(socket);
      assert.deepEqual(again, { ok: true, instanceId: world.idOf(socket), durable });
    }
  });

  it('enters nothing that admission refuses, holds nothing, and tells it once', async () => {
    const world = new ReconcileWorld();
    const outcome = await world.register(world.sockets.put('/d/a.sock', { listens: false }));
    assert.equal(outcome.ok, false);
    assert.deepEqual([world.roster.size, world.sockets.openPins], [0, 0]);
    assert.deepEqual(
      world.events.all.map(({ type, reason, plugin }) => ({ type, reason, plugin })),
      [{ type: 'refused', reason: 'NO_LISTENER', plugin: `DevicePlugin/${X}` }],
    );
  });

  it("says of a refusal whether the name is another user's, whose refusals it does not count", async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a.sock');
    const refuse = (uid: number, name = X): void => {
      const caller = { uid, gid: uid, pid: 7, startTime: '1', source: 'peercred' } as const;
      const asked = {
        door: 'register',
        pulled: false,
        type: world.handler.type,
        versions: [],
        endpoint: socket.path,
      } as const;
      world.enrolments.refuse({ ...asked, name, caller }, { code: 'ENDPOINT_INVALID', message: 'no path' });
    };
    refuse(4001);
    await world.register(socket);
    const owner = world.of(socket)?.caller?.uid ?? -1;
    refuse(owner);
    assert.equal(world.of(socket)?.counters.rejected, 1);
    refuse(4001);
    refuse(4001, 'example.com/other');
    assert.equal(world.of(socket)?.counters.rejected, 1);
    assert.deepEqual(
      world.events.all.map(({ uid, facts }) => [uid, facts]),
      [
        [4001, undefined],
        [owner, undefined],
        [4001, { by: 4001 }],
        [4001, undefined],
      ],
    );
  });

  it('refuses nobody where the broker comes back to an incarnation that has gone', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a.sock');
    await world.register(world.sockets.put('/d/b.sock', { listens: false }));
    assert.deepEqual([world.logged, world.events.all.length], [['warn registration.refused'], 1]);
    await world.register(socket, { pulled: true, expected: 'another' });
    await world.register(world.sockets.put('/d/b.sock', { listens: false }), { pulled: true });
    world.handler.onRegister = () => ReconcileWorld.refuse('NO_LISTENER', 'nobody listens on the endpoint');
    await world.register(socket, { pulled: true });
    assert.deepEqual([world.logged.length, world.events.all.length], [1, 1]);
    assert.equal(world.of(socket)?.counters.rejected, 0);
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'no options');
    await world.register(socket, { pulled: true });
    assert.equal(
      world.logged.at(-1),
      'warn registration.refused',
      'a plugin that is there and is refused is another matter',
    );
  });

  it('is rejected with what the handler threw, and holds nothing', async () => {
    const world = new ReconcileWorld();
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'no options');
    const socket = world.sockets.put('/d/a.sock');
    const outcome = await world.register(socket);
    assert.deepEqual(outcome, {
      ok: false,
      refusal: { code: 'OPTIONS_FAILED', message: 'no options' },
      instanceId: world.idOf(socket),
    });
    assert.equal(world.stateOf(socket), 'rejected OPTIONS_FAILED');
    assert.equal(world.sockets.openPins, 0);
  });

  it('turns what a handler throws by mistake into a refusal', async () => {
    const world = new ReconcileWorld();
    world.handler.onRegister = () => {
      throw new TypeError('oops');
    };
    const outcome = await world.register(world.sockets.put('/d/a.sock'));
    assert.deepEqual(!outcome.ok && outcome.refusal, { code: 'HANDLER_FAILED', message: `${X}: oops` });
  });

  it('of the same incarnation again opens nothing while it serves', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a.sock');
    for (let i = 0; i < 5; i += 1) assert.equal((await world.register(socket)).ok, true);
    assert.equal(world.handler.registered.length, 1);
    assert.equal(world.of(socket)?.counters.registrations, 5);
    assert.equal(world.sockets.openPins, 1);
  });

  it('of the same incarnation while it is being asked waits for that answer', async () => {
    const world = new ReconcileWorld();
    const answer = gate();
    world.handler.onRegister = () => answer.opened;
    const socket = world.sockets.put('/d/a.sock');
    const both = [world.register(socket), world.register(socket)];
    await world.clock.settle();
    answer.open();
    assert.deepEqual(
      (await Promise.all(both)).map(({ ok }) => ok),
      [true, true],
    );
    assert.equal(world.handler.registered.length, 1);
  });

  it('that fails touches no other incarnation of the plugin', async () => {
    const world = new ReconcileWorld();
    const good = world.sockets.put('/d/good.sock');
    await world.register(good);
    world.list(good);
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'no options');
    await world.register(world.sockets.put('/d/bad.sock'));
    assert.equal(world.stateOf(good), 'ready registered');
    assert.equal(world.resource()?.allocatable, 2);
  });

  it('of an incarnation that is held leaves it held when it fails', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a.sock');
    await world.register(socket);
    world.lose(socket, { reason: 'not-answering', message: 'does not answer' });
    world.handler.onRegister = () => ReconcileWorld.refuse('NO_ANSWER', 'silent');
    await world.register(socket);
    assert.equal(world.stateOf(socket), 'held not-answering');
    assert.equal(world.of(socket)?.counters.rejected, 1);
  });
});

describe('events while a plugin is being asked', () => {
  async function asking(): Promise<{
    world: ReconcileWorld;
    socket: ReturnType<ReconcileWorld['sockets']['put']>;
    outcome: ReturnType<ReconcileWorld['register']>;
    answer: () => void;
  }> {
    const world = new ReconcileWorld();
    const answer = gate();
    world.handler.onRegister = () => answer.opened;
    const socket = world.sockets.put('/d/a.sock');
    const outcome = world.register(socket);
    await world.clock.settle();
    assert.equal(world.stateOf(socket), 'connecting registering');
    return { world, socket, outcome, answer: answer.open };
  }

  it('an operator that closes it is obeyed: it never becomes ready, and nothing stays open', async () => {
    const { world, socket, outcome, answer } = await asking();
    const instance = world.of(socket);
    assert.ok(instance);
    world.endings.close(instance, 'deregistered', 'was closed by an operator');
    answer();
    const said = await outcome;
    assert.equal(!said.ok && said.refusal.code, 'DEREGISTERED');
    assert.equal(world.stateOf(socket), 'gone deregistered');
    assert.deepEqual([world.handler.sessions.size, world.sockets.openPins], [0, 0]);
  });

  it('an operator that forgets it leaves no session without a record', async () => {
    const { world, socket, outcome, answer } = await asking();
    const instance = world.of(socket);
    assert.ok(instance);
    world.roster.remove(instance);
    answer();
    assert.equal((await outcome).ok, false);
    assert.equal(world.stateOf(socket), 'unknown');
    assert.deepEqual([world.handler.sessions.size, world.sockets.openPins], [0, 0]);
  });

  it('a quarantine of its process keeps it out, and the answer is only a matter of time', async () => {
    const { world, socket, outcome, answer } = await asking();
    world.reports.report(world.idOf(socket), { state: 'quarantined', reason: 'quarantine', message: 'offended' });
    answer();
    const said = await outcome;
    assert.equal(!said.ok && said.refusal.code, 'QUARANTINED');
    assert.equal(world.stateOf(socket), 'quarantined quarantine');
    assert.equal(world.handler.sessions.size, 0);
  });

  it('a connection that ends before the handler is done makes nothing ready, and is taken up again', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a.sock');
    world.handler.onRegister = (_, handle) => {
      if (world.handler.registered.length > 0) return;
      handle.report({ state: 'held', reason: 'connection-lost', message: 'the connection ended' });
    };
    const said = await world.register(socket);
    assert.equal(!said.ok && said.refusal.code, 'HANDLER_FAILED');
    assert.deepEqual(
      world.changes.map(({ after }) => after),
      ['connecting', 'held'],
    );
    await world.clock.advance(0);
    assert.equal(world.stateOf(socket), 'ready registered');
  });

  it('giving up is a refusal, and a result that comes later is dropped', async () => {
    const world = new ReconcileWorld();
    const answer = gate();
    world.handler.onRegister = () => answer.opened;
    const socket = world.sockets.put('/d/a.sock');
    const halt = new AbortController();
    const outcome = world.register(socket, {}, halt.signal);
    await world.clock.settle();
    halt.abort(new Error('the caller has gone'));
    answer.open();
    assert.equal((await outcome).ok, false);
    assert.equal(world.stateOf(socket), 'rejected HANDLER_FAILED');
    assert.equal(world.sockets.openPins, 0);
  });
});

describe('a registration whose pending registration is dropped', () => {
  const waiting: Admitter['admit'] = (_request, _handler, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

  async function droppedWith(reason: Error): Promise<ReconcileWorld> {
    const world = new ReconcileWorld({ admit: waiting });
    const halt = new AbortController();
    const outcome = world.register(world.sockets.put('/d/a.sock'), {}, halt.signal);
    await world.clock.settle();
    halt.abort(reason);
    assert.equal((await outcome).ok, false);
    return world;
  }

  it('while it waits for its turn is no refusal, and no warning', async () => {
    const world = await droppedWith(new PendingDropped('not wanted any more'));
    assert.deepEqual([world.logged, world.events.all], [['info registration.given-up'], []]);
  });

  it('is told apart from one that somebody else gave up', async () => {
    const world = await droppedWith(new Error('not wanted any more'));
    assert.deepEqual(world.logged, ['warn registration.refused']);
    assert.deepEqual(
      world.events.all.map(({ type }) => type),
      ['refused'],
    );
  });

  it('is the one of a registration socket that vanishes', async () => {
    const world = new ReconcileWorld({ admit: waiting });
    const socket = world.sockets.put('/d/a.sock');
    const attempt = async (signal: AbortSignal): Promise<Attempt> => {
      await world.register(socket, {}, signal);
      return { done: false };
    };
    world.reconciler.want({ key: 'socket:/d/a.sock', incarnation: socket.key, attempt });
    await world.clock.settle();
    world.reconciler.unwant('socket:/d/a.sock', socket.key);
    await world.clock.settle();
    assert.deepEqual([world.logged, world.events.all], [['info registration.given-up'], []]);
  });
});

describe('changes by others between admission and the roster', () => {
  it('is asked again in the turn in which the registration is entered', async () => {
    const world: ReconcileWorld = new ReconcileWorld({
      admit: (request): ReturnType<Admitter['admit']> => {
        const verdict = world.admit(request);
        const claimed = (): Refusal | undefined =>
          world.roster.claimantsOf(request.type, world.sockets.keyAt(request.endpoint) ?? '', request.name).length === 0
            ? undefined
            : { code: 'ENDPOINT_CLAIMED', message: 'serves another' };
        return Promise.resolve(verdict.admitted ? { ...verdict, recheck: claimed } : verdict);
      },
    });
    const socket = world.sockets.put('/d/a.sock');
    const outcomes = await Promise.all(['one', 'two'].map((n) => world.register(socket, { name: `example.com/${n}` })));
    assert.deepEqual(
      outcomes.map((outcome) => outcome.ok || outcome.refusal.code),
      [true, 'ENDPOINT_CLAIMED'],
    );
    assert.equal(world.sockets.openPins, 1);
  });
});

describe('a pull', () => {
  it('is no new registration: it does not overtake plugins that registered meanwhile', async () => {
    const world = new ReconcileWorld();
    const old = world.sockets.put('/d/old.sock');
    const young = world.sockets.put('/d/young.sock');
    await world.register(old);
    world.list(old, 4);
    await world.register(young);
    // The old one closes its stream while it shuts down, before the young one has sent its list.
    world.lose(old, { reason: 'reopening', message: 'closed its list stream' });
    await world.clock.advance(0);
    world.list(old, 4);
    assert.equal(world.stateOf(young), 'ready registered');
    world.list(young, 4);
    assert.equal(world.stateOf(old), 'held replaced');
    assert.equal(world.resource()?.owner.id, world.idOf(young));
  });

  it('does not make the registration younger than it is', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a.sock');
    await world.register(socket);
    world.list(socket);
    const registeredAt = world.of(socket)?.registeredAt;
    await world.clock.advance(60_000);
    world.lose(socket);
    await world.clock.advance(1000);
    assert.equal(world.stateOf(socket), 'ready confirmed');
    assert.equal(world.of(socket)?.registeredAt, registeredAt);
    assert.equal(world.of(socket)?.counters.registrations, 1);
  });

  it('that is lost again before it is on disk goes on', async () => {
    const onDisk: (() => void)[] = [];
    const world = new ReconcileWorld({
      persist: () => new Promise((resolve) => void onDisk.push(() => resolve(true))),
    });
    const socket = world.sockets.put('/d/a.sock');
    const registered = world.register(socket);
    await world.clock.settle();
    onDisk.shift()?.();
    await registered;
    world.lose(socket);
    await world.clock.advance(0);
    assert.equal(world.handler.registered.length, 2, 'it was pulled');
    world.lose(socket);
    onDisk.shift()?.();
    await world.clock.advance(10_000);
    assert.equal(world.handler.registered.length, 3, 'and again, although the second loss came before the disk');
    onDisk.shift()?.();
    await world.clock.settle();
    assert.equal(world.of(socket)?.state, 'ready');
    assert.equal(world.reconciler.size, 0);
  });
});

describe('a handler whose endpoints coexist', () => {
  it('keeps every incarnation that is registered', async () => {
    const world = new ReconcileWorld({ handler: new FakeHandler('DRAPlugin', true) });
    const [one, two] = [world.sockets.put('/p/1.sock'), world.sockets.put('/p/2.sock')];
    for (const socket of [one, two]) {
      await world.register(socket);
      world.list(socket);
    }
    assert.deepEqual([world.stateOf(one), world.stateOf(two)], ['ready registered', 'ready registered']);
  });
});
