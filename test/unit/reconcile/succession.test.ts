import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FakeSocket } from '../../support/fake-sockets.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
type Step =
  | { readonly what: 'register' | 'list' | 'break' | 'kill' | 'restart' | 'look'; readonly who: Name }
  | { readonly what: 'wait'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constantFrom('register', 'list', 'break', 'kill', 'restart', 'look'),
      who: fc.constantFrom(...NAMES),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(1, 300, 2500, 40_000) }),
  },
);

/** Three processes that fight over one name; each list has as many devices as the process is old in registrations. */
class Fight {
  readonly world = new ReconcileWorld({ graceMs: 30_000 });
  readonly sockets = new Map<Name, FakeSocket>();
  /** Sockets in the order of their last Register calls, of those that still listen. */
  readonly order: FakeSocket[] = [];

  async do(step: Step): Promise<void> {
    const { world, sockets } = this;
    if (step.what === 'wait') {
      await world.clock.advance(step.ms);
      return;
    }
    const { what, who } = step;
    let socket = sockets.get(who);
    if (what === 'restart' || socket === undefined) {
      if (socket !== undefined) this.#kill(socket);
      socket = world.sockets.put(`/d/${who}`);
      sockets.set(who, socket);
    }
    if (what === 'register' && socket.listener !== undefined) {
      const isServing = world.of(socket)?.state === 'ready' || world.of(socket)?.state === 'orphaned';
      await world.register(socket);
      if (!isServing) this.#noteRegistration(socket);
    } else if (what === 'list') world.list(socket, Number(socket.incarnation.ino));
    else if (what === 'break') world.lose(socket, { reason: 'reopening' });
    else if (what === 'kill') this.#kill(socket);
    else if (what === 'look') world.lifecycle.checkPaths();
    await world.clock.settle();
  }

  /** Everybody who is connected sends a list, until nothing changes any more. */
  async settle(): Promise<void> {
    for (let round = 0; round < 12; round += 1) {
      for (const socket of this.order) this.world.list(socket, Number(socket.incarnation.ino));
      this.world.lifecycle.checkPaths();
      await this.world.clock.advance(31_000);
    }
  }

  get newest(): FakeSocket | undefined {
    return this.order.findLast((socket) => socket.listener !== undefined);
  }

  #noteRegistration(socket: FakeSocket): void {
    const before = this.order.indexOf(socket);
    if (before >= 0) this.order.splice(before, 1);
    this.order.push(socket);
  }

  #kill(socket: FakeSocket): void {
    this.world.kill(socket);
    const at = this.order.indexOf(socket);
    if (at >= 0) this.order.splice(at, 1);
  }
}

describe('incarnations of one plugin', () => {
  it('end in the list of the newest that lives, in any order in which they register, list, break and die', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const fight = new Fight();
        for (const one of steps) await fight.do(one);
        await fight.settle();
        const { world, newest } = fight;
        const resource = world.resource();
        if (newest === undefined) assert.equal(resource?.allocatable ?? 0, 0);
        else {
          assert.equal(resource?.owner.id, world.idOf(newest));
          assert.equal(resource.allocatable, Number(newest.incarnation.ino));
          assert.equal(world.handler.sessions.size, 1, 'one session');
        }
        assert.ok(world.sockets.openPins <= 3, `${String(world.sockets.openPins)} descriptors`);
      }),
      { numRuns: 150 },
    );
  });

  it('never show less than a whole list while one of them serves that did before', async () => {
    const rolling = fc.array(fc.record({ listLate: fc.boolean(), oldBreaks: fc.boolean(), oldDies: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(rolling, async (rounds) => {
        const world = new ReconcileWorld();
        let old = world.sockets.put('/d/0');
        await world.register(old);
        world.list(old, 4);
        for (const [at, { listLate, oldBreaks, oldDies }] of rounds.entries()) {
          const young = world.sockets.put(`/d/${String(at + 1)}`);
          await world.register(young);
          if (listLate) await world.clock.advance(5000);
          if (oldBreaks) {
            world.lose(old, { reason: 'reopening' });
            await world.clock.advance(0);
          }
          if (!oldBreaks) assert.equal(world.resource()?.allocatable, 4);
          world.list(young, 4);
          assert.equal(world.resource()?.allocatable, 4);
          if (oldDies) world.kill(old);
          await world.clock.advance(5000);
          assert.equal(world.resource()?.allocatable, 4);
          assert.equal(world.resource()?.owner.id, world.idOf(young));
          old = young;
        }
      }),
      { numRuns: 40 },
    );
  });
});
