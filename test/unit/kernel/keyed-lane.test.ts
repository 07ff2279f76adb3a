import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { KeyedLane } from '../../../src/kernel/keyed-lane.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('a lane', () => {
  it('runs the tasks of one key one after the other, in the order they came', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', '__proto__'), fc.nat(3)), { maxLength: 20 }),
        async (tasks) => {
          const lane = new KeyedLane();
          const running = new Map<string, number>();
          const order = new Map<string, number[]>();
          await Promise.all(
            tasks.map(([key, turns], at) =>
              lane.run(key, async () => {
                assert.equal(running.get(key) ?? 0, 0);
                running.set(key, 1);
                order.set(key, [...(order.get(key) ?? []), at]);
                for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
                running.set(key, 0);
              }),
            ),
          );
          for (const seen of order.values())
            assert.deepEqual(
              seen,
              [...seen].sort((a, b) => a - b),
            );
          await new FakeClock().settle();
          assert.equal(lane.size, 0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('begins at once where nobody is before, and side by side for different keys', async () => {
    const lane = new KeyedLane();
    const begun: string[] = [];
    void lane.run('a', () => {
      begun.push('a');
      return new Promise(() => undefined);
    });
    void lane.run('a', () => Promise.resolve(begun.push('a again')));
    void lane.run('b', () => Promise.resolve(begun.push('b')));
    await new FakeClock().settle();
    assert.deepEqual(begun, ['a', 'b']);
  });

  it('goes on after a task that failed, and passes its failure to the one who asked', async () => {
    const lane = new KeyedLane();
    const failed = lane.run('a', () => Promise.reject(new Error('oops')));
    const next = lane.run('a', () => Promise.resolve('done'));
    await assert.rejects(failed, /oops/);
    assert.equal(await next, 'done');
  });

  it('does not run a task that was given up while it waited', async () => {
    const lane = new KeyedLane();
    const halt = new AbortController();
    let end = (): void => undefined;
    const run: string[] = [];
    void lane.run('a', () => new Promise<void>((resolve) => (end = resolve)));
    const given = lane.run('a', () => Promise.resolve(run.push('given up')), halt.signal);
    const next = lane.run('a', () => Promise.resolve(run.push('next')), new AbortController().signal);
    halt.abort(new Error('too late'));
    end();
    await assert.rejects(given, /too late/);
    await next;
    assert.deepEqual(run, ['next']);
  });
});
