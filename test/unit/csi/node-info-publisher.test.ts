import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NodeInfoPublisher } from '../../../src/csi/node-info-publisher.js';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import { silentLog } from '../../support/silence.js';
import { seededRandom } from '../../support/seeded-random.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeTarget } from './fakes.js';

const info = (driver: string, nodeId = 'n1'): NodeInfo => ({ driver, nodeId, topology: [] });

function setup(goesFirst: (driver: string) => boolean = () => false): {
  clock: FakeClock;
  target: FakeTarget;
  publisher: NodeInfoPublisher;
  errors: string[];
  story: string[];
} {
  const clock = new FakeClock();
  const target = new FakeTarget();
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: string, message: string): void => void errors.push(message) };
  const publisher = new NodeInfoPublisher({ target, clock, random: seededRandom(1), log, goesFirst });
  const story: string[] = [];
  publisher.onCondition((driver, { state }) => story.push(`${driver} ${state}`));
  return { clock, target, publisher, errors, story };
}

describe('the publisher of node info', () => {
  it('publishes what is wanted and takes back what is not', async () => {
    const { clock, target, publisher, story } = setup();
    publisher.publish(info('a'));
    await clock.settle();
    assert.deepEqual([...target.published.keys()], ['a']);
    publisher.unpublish('a');
    await clock.settle();
    assert.equal(target.published.size, 0);
    assert.deepEqual(story, ['a publishing', 'a published']);
    assert.equal(publisher.isDone, true);
    assert.equal(clock.pending, 0);
  });

  it("has root's drivers before those of others, whoever came first: of two that contradict each other the first is public", async () => {
    const { clock, target, publisher } = setup((driver) => driver.startsWith('root'));
    publisher.publish(info('other'));
    await clock.settle();
    for (const driver of ['root-1', 'another', 'root-2']) publisher.publish(info(driver));
    await clock.advance(10_000);
    assert.deepEqual(target.wanted, ['root-1', 'root-2', 'other', 'another']);
  });

  it('does nothing for a driver that says the same again', async () => {
    const { clock, target, publisher } = setup();
    publisher.publish(info('a'));
    await clock.settle();
    publisher.publish(info('a'));
    await clock.settle();
    assert.equal(target.rounds, 1);
  });

  it('tries until it succeeds, and says the problem once', async () => {
    const { clock, target, publisher, errors, story } = setup();
    target.failures.push(...Array.from({ length: 20 }, () => ({ ok: false as const, message: 'no route' })));
    publisher.publish(info('a'));
    await clock.settle();
    assert.equal(publisher.problem, 'no route');
    await clock.advance(3_600_000);
    assert.deepEqual([...target.published.keys()], ['a']);
    assert.equal(target.rounds, 21);
    assert.deepEqual(errors, ['no route']);
    assert.equal(publisher.problem, '');
    assert.deepEqual(story, ['a publishing', 'a delayed', 'a published']);
  });

  it('waits as long as the other side asked for, whatever changes meanwhile', async () => {
    const { clock, target, publisher } = setup();
    target.failures.push({ ok: false, message: 'too many requests', retryAfterMs: 60_000 });
    publisher.publish(info('a'));
    await clock.settle();
    publisher.publish(info('b'));
    await clock.advance(59_999);
    assert.equal(target.rounds, 1);
    await clock.advance(2);
    assert.deepEqual([...target.published.keys()], ['a', 'b']);
  });

  it('goes on within a second where an attempt only did not come to its end, however often', async () => {
    const { clock, target, publisher } = setup();
    const unfinished = { ok: false as const, message: 'refused', isUnfinished: true as const };
    target.failures.push(...Array.from({ length: 20 }, () => unfinished));
    publisher.publish(info('a'));
    await clock.advance(21_000);
    assert.deepEqual([...target.published.keys()], ['a']);
  });

  it('tries a removal until it succeeds', async () => {
    const { clock, target, publisher } = setup();
    publisher.publish(info('a'));
    await clock.settle();
    target.failures.push({ ok: false, message: 'down' }, { ok: false, message: 'down' });
    publisher.unpublish('a');
    await clock.advance(60_000);
    assert.equal(target.published.size, 0);
  });

  it('takes a driver back once, and not any more when it is wanted again', async () => {
    const { clock, target, publisher } = setup();
    publisher.unpublish('a');
    await clock.settle();
    publisher.publish(info('b'));
    await clock.settle();
    target.failures.push({ ok: false, message: 'down' });
    publisher.unpublish('b');
    await clock.settle();
    publisher.publish(info('b'));
    await clock.advance(60_000);
    assert.deepEqual(target.takenBack, [['a'], [], ['b'], []]);
    assert.equal(target.published.has('b'), true);
  });

  it('takes the newest word of a driver that changed while it was being published', async () => {
    const { clock, target, publisher } = setup();
    let openGate = (): void => undefined;
    target.gate = new Promise((resolve) => (openGate = resolve));
    publisher.publish(info('a', 'old'));
    publisher.publish(info('a', 'new'));
    publisher.publish(info('b'));
    publisher.unpublish('b');
    await clock.settle();
    openGate();
    await clock.settle();
    await clock.settle();
    assert.equal(target.published.get('a')?.nodeId, 'new');
    assert.equal(target.published.has('b'), false);
    assert.equal(target.rounds, 2);
  });

  it('takes back what an earlier life published and nobody wants, and nothing before drivers had time to be found', async () => {
    const { clock, target, publisher } = setup();
    target.published.set('kept', info('kept')).set('gone', info('gone'));
    publisher.publish(info('kept'));
    await clock.settle();
    assert.deepEqual([...target.published.keys()], ['kept', 'gone']);
    publisher.settle();
    await clock.advance(30_000);
    assert.deepEqual([...target.published.keys()], ['kept', 'gone']);
    await clock.advance(30_000);
    assert.deepEqual([...target.published.keys()], ['kept']);
    assert.deepEqual(target.takenBack.at(-1), ['gone']);
  });

  it('reports a contradiction of one driver, publishes the others at once, and looks again each minute', async () => {
    const { clock, target, publisher } = setup();
    target.conflicts.set('a', 'label zone is x, the driver says y');
    publisher.publish(info('a'));
    await clock.settle();
    assert.deepEqual(publisher.conditionOf('a'), { state: 'refused', message: 'label zone is x, the driver says y' });
    publisher.publish(info('b'));
    await clock.settle();
    assert.equal(publisher.conditionOf('b')?.state, 'published');
    target.conflicts.clear();
    await clock.advance(60_000);
    assert.equal(publisher.conditionOf('a')?.state, 'published');
    assert.equal(clock.pending, 0);
  });

  it('publishes what changes on and on about once a second, and a change after a pause at once', async () => {
    const { clock, target, publisher } = setup();
    for (let nth = 0; nth < 100; nth += 1) {
      publisher.publish(info('a', `n${String(nth)}`));
      await clock.advance(50);
    }
    assert.ok(target.rounds <= 10, `${String(target.rounds)} rounds`);
    await clock.advance(1000);
    assert.deepEqual([target.published.get('a')?.nodeId, publisher.isDone], ['n99', true]);
    await clock.advance(1000);
    publisher.publish(info('b'));
    await clock.settle();
    assert.deepEqual([target.published.has('b'), clock.pending], [true, 0]);
  });

  it('survives a target that throws', async () => {
    const { clock, target, publisher } = setup();
    target.known = () => Promise.reject(new Error('unreadable'));
    publisher.settle(0);
    await clock.advance(1);
    assert.equal(publisher.problem, 'unreadable');
    target.known = () => Promise.resolve([]);
    await clock.advance(60_000);
    assert.equal(publisher.problem, '');
  });

  it('takes drivers of an earlier life back later where they cannot be read at first, and publishes meanwhile', async () => {
    const { clock, target, publisher } = setup();
    target.known = () => Promise.resolve(undefined);
    publisher.settle(0);
    publisher.publish(info('a'));
    await clock.advance(1);
    assert.deepEqual([...target.published.keys()], ['a']);
    target.known = () => Promise.resolve(['a', 'old']);
    await clock.advance(60_000);
    assert.deepEqual(target.takenBack.at(-1), ['old']);
  });

  it('applies again later where something is left that nobody waits for, and is done meanwhile', async () => {
    const { clock, target, publisher } = setup();
    target.againAfterMs = 60_000;
    publisher.publish(info('a'));
    await clock.settle();
    assert.deepEqual([target.rounds, publisher.isDone, publisher.conditionOf('a')?.state], [1, true, 'published']);
    target.againAfterMs = undefined;
    await clock.advance(59_999);
    assert.equal(target.rounds, 1);
    await clock.advance(1);
    assert.deepEqual([target.rounds, clock.pending], [2, 0]);
    target.againAfterMs = 60_000;
    publisher.publish(info('b'));
    await clock.advance(2000);
    await publisher.stop();
    assert.equal(clock.pending, 0);
  });

  it('does nothing after it was stopped', async () => {
    const { clock, target, publisher } = setup();
    target.failures.push({ ok: false, message: 'down' });
    publisher.publish(info('a'));
    await clock.settle();
    await publisher.stop();
    publisher.publish(info('b'));
    await clock.advance(600_000);
    assert.equal(target.rounds, 1);
    assert.equal(clock.pending, 0);
  });

  it('publishes every driver in the end, whatever fails and in whatever order drivers come and go', async () => {
    const random = seededRandom(7);
    const { clock, target, publisher } = setup();
    const wanted = new Set<string>();
    for (let step = 0; step < 300; step++) {
      const driver = `d${String(Math.floor(random.next() * 5))}`;
      if (random.next() < 0.3) target.failures.push({ ok: false, message: 'flaky' });
      if (random.next() < 0.5) {
        publisher.publish(info(driver, `n${String(step)}`));
        wanted.add(driver);
      } else {
        publisher.unpublish(driver);
        wanted.delete(driver);
      }
      if (random.next() < 0.3) await clock.advance(Math.floor(random.next() * 500));
    }
    await clock.advance(36_000_000);
    assert.deepEqual([...target.published.keys()].sort(), [...wanted].sort());
    assert.equal(publisher.isDone, true);
  });
});
