import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMPOSING_TURNS, ListComposer } from '../../../src/front/list-composer.js';
import type { FrontWire, ResourceNow } from '../../../src/front/ports.js';
import { compose } from '../../../src/front/told.js';
import { USER_OCTETS } from '../../../src/front/told-shares.js';
import { ListAndWatchResponse } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { FairRoom } from '../../../src/kernel/fair-room.js';
import { frontWire } from '../../../src/platform/wire/front-wire.js';
import { eventually } from '../../support/eventually.js';
import { READY } from '../../support/front-ports.js';

const MANY = 20_000;

/** A long list, as its plugin sent it. */
function longList(prefix = 'd', count = MANY): ResourceNow {
  const devices = Array.from({ length: count }, (_, nth) => ({
    id: `${prefix}${String(nth)}`,
    health: 'Healthy',
    topology: { nodes: [{ id: nth % 2 }] },
  }));
  return { ...READY, list: ListAndWatchResponse.encode({ devices }), devices: count, healthy: count };
}

/** A composer, with how often a list was read and how often one is at hand. */
function world(wire: FrontWire = frontWire, composing = new FairRoom(COMPOSING_TURNS)) {
  const facts = { reads: 0, ready: 0 };
  const composer = new ListComposer({
    resource: 'example.com/a',
    composing,
    ready: () => {
      facts.ready++;
    },
    wire: {
      ...wire,
      unlisted: () => assert.fail('a long list is not read in one turn'),
      compose: () => assert.fail('a long list is not composed in one turn'),
      unlistedInTurns: (...given) => {
        facts.reads++;
        return wire.unlistedInTurns(...given);
      },
      composeInTurns: (list, isAllUnhealthy, vanished) => {
        if (isAllUnhealthy) facts.reads++;
        return wire.composeInTurns(list, isAllUnhealthy, vanished);
      },
    },
  });
  const isReady = (times: number): Promise<unknown> =>
    eventually(`it was composed ${String(times)} times`, () => facts.ready === times, { everyMs: 1 });
  return { composer, facts, isReady };
}

describe('a long list for the kubelet', () => {
  for (const [told, held] of [
    ['unhealthy', []],
    ['unhealthy', ['d1', 'gone']],
    ['reported', ['d1', 'gone']],
    ['reported', ['d1']],
  ] as const) {
    it(`is composed in turns with everything else (${told}, pods have ${String(held.length)})`, async () => {
      const { composer, facts, isReady } = world();
      const now = longList();
      let turns = 0;
      const count = (): void => {
        turns++;
        if (facts.ready === 0) setImmediate(count);
      };
      setImmediate(count);
      assert.equal(composer.of(now, { told }, held, undefined), 'later');
      await isReady(1);
      assert.ok(turns >= MANY / 2000, `${String(turns)} turns of the loop`);
      const done = composer.of(now, { told }, held, undefined);
      assert.deepEqual(done, compose(now, { told }, { held }, frontWire));
    });
  }

  it('is composed in turns, too, where it is long by what pods have and its plugin does not list', async () => {
    const { composer, isReady } = world();
    const now = longList('d', 1);
    const held = Array.from({ length: MANY }, (_, nth) => `gone${String(nth)}`);
    let turns = 0;
    const count = (): void => void (turns++, setImmediate(count).unref());
    assert.equal(composer.of(now, { told: 'reported' }, held, undefined), 'later');
    setImmediate(count);
    await isReady(1);
    assert.ok(turns >= MANY / 1000, `${String(turns)} turns of the loop`);
    assert.deepEqual(
      composer.of(now, { told: 'reported' }, held, undefined),
      compose(now, { told: 'reported' }, { held }, frontWire),
    );
  });

  it('of an ordinary user is not read where it has more devices than its share', () => {
    const { composer, facts } = world();
    const now = longList();
    const told = composer.of(now, { told: 'unhealthy' }, ['gone'], 4001);
    assert.ok(typeof told === 'object' && told.octets > USER_OCTETS);
    assert.equal(facts.reads, 0);
  });

  it('is read once for each change, however often it is asked for', async () => {
    const { composer, facts, isReady } = world();
    const now = longList();
    for (let nth = 0; nth < 100; nth++)
      composer.of({ ...now, reason: 'registered' }, { told: 'unhealthy' }, ['d1'], undefined);
    await isReady(1);
    const first = composer.of(now, { told: 'unhealthy' }, ['d1'], undefined);
    for (let nth = 0; nth < 100; nth++)
      assert.equal(composer.of({ ...now }, { told: 'unhealthy' }, ['d1'], undefined), first);
    assert.equal(facts.reads, 2, 'for what pods have, and to be composed');
  });

  it('stays as it was composed last until its successor is at hand', async () => {
    const { composer, isReady } = world();
    const [now, next] = [longList(), longList('e')];
    composer.of(now, { told: 'reported' }, ['gone'], undefined);
    await isReady(1);
    const first = composer.of(now, { told: 'reported' }, ['gone'], undefined);
    assert.equal(composer.of(next, { told: 'reported' }, ['gone'], undefined), first);
    await isReady(2);
    assert.deepEqual(
      composer.of(next, { told: 'reported' }, ['gone'], undefined),
      compose(next, { told: 'reported' }, { held: ['gone'] }, frontWire),
    );
  });

  it('is at hand at once where it need not be read, and is composed anew after that', async () => {
    const { composer, isReady } = world();
    const now = longList();
    composer.of(now, { told: 'reported' }, ['gone'], undefined);
    await isReady(1);
    const plain = composer.of(now, { told: 'reported' }, [], undefined);
    assert.equal(typeof plain === 'object' && plain.bytes, now.list);
    assert.equal(composer.of(now, { told: 'reported' }, ['gone'], undefined), 'later');
    await isReady(2);
  });

  it('of an ordinary user keeps none of root waiting, and one of its own', async () => {
    const turns = new FairRoom(COMPOSING_TURNS);
    let goOn = (): void => undefined;
    const hangs = new Promise<void>((resolve) => (goOn = resolve));
    const slow = { ...frontWire, composeInTurns: async () => (await hangs, Buffer.alloc(1)) };
    const first = world(slow, turns);
    const second = world(frontWire, turns);
    const roots = world(frontWire, turns);
    for (const [{ composer }, user] of [
      [first, 4001],
      [second, 4001],
      [roots, undefined],
    ] as const)
      composer.of(longList('d', 2000), { told: 'unhealthy' }, [], user);
    await roots.isReady(1);
    assert.deepEqual([first.facts.ready, second.facts.ready, second.facts.reads], [0, 0, 0]);
    goOn();
    await second.isReady(1);
  });

  it('that is short is read once for each change, and is none where this version reads it otherwise', () => {
    const reads: number[] = [];
    const wire: FrontWire = {
      ...frontWire,
      octetsOf: (...given) => {
        reads.push(given[0].length);
        return frontWire.octetsOf(...given);
      },
    };
    const composer = new ListComposer({
      ...{ resource: 'example.com/a', composing: new FairRoom(COMPOSING_TURNS), wire },
      ready: () => assert.fail('it is at hand'),
    });
    const now = longList('d', 100);
    for (let nth = 0; nth < 100; nth++) composer.of({ ...now }, { told: 'reported' }, [], 4001);
    assert.deepEqual(reads, [now.list.length]);
    const told = composer.of({ ...now, list: Buffer.alloc(1024, 0xff) }, { told: 'reported' }, [], 4001);
    assert.equal(typeof told === 'object' && told.bytes.length, 0);
  });

  it('that this version reads otherwise is none', async () => {
    const { composer, isReady } = world();
    const now = { ...READY, list: Buffer.alloc(64 * 1024, 0xff) };
    composer.of(now, { told: 'unhealthy' }, [], undefined);
    await isReady(1);
    const told = composer.of(now, { told: 'unhealthy' }, [], undefined);
    assert.equal(typeof told === 'object' && told.bytes.length, 0);
  });
});
