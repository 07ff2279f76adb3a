import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Waiting, type Decision } from '../../../src/allocation/waiting.js';

const NOT_NOW = { code: 'NO_DEVICES', message: 'too few' } as const;

describe('a request behind one that lacks something else by now', () => {
  it('is served when it does so, before newcomers', async () => {
    const waiting = new Waiting();
    const free = new Map([
      ['x', 0],
      ['y', 1],
    ]);
    /** Tries to take one of each. */
    const take = (resources: readonly string[]) => (): Decision<string> => {
      const lacks = resources.find((one) => (free.get(one) ?? 0) === 0);
      if (lacks !== undefined) return { ok: false, refusal: NOT_NOW, isFinal: false, lacks };
      return { ok: true, value: resources.join() };
    };
    const wait = (resources: readonly string[], uid: number) => {
      const attempt = take(resources);
      const first = attempt();
      assert.ok(!first.ok);
      return waiting.wait({ resources, uid, isStranger: true }, attempt, first);
    };
    const both = wait(['y', 'x'], 4001);
    const behind = wait(['x'], 4002);
    let served: string | undefined;
    void behind.result.then((result) => (served = result.ok ? result.value : result.refusal.code));
    // There is an x, and no y any more: the plugins say so one after the other.
    free.set('x', 1).set('y', 0);
    waiting.serve(new Set(['y']));
    await Promise.resolve();
    assert.deepEqual([served, waiting.size], ['x', 1]);
    both.leave();
    assert.equal((await both.result).ok, false);
  });
});

describe('a request that leaves the line', () => {
  it('has those tried that it kept waiting, and none before it', async () => {
    const waiting = new Waiting();
    const tried: string[] = [];
    const wait = (name: string, resources: readonly string[], uid: number) => {
      const lacks = resources[0] ?? '';
      const refusal = { ok: false, refusal: NOT_NOW, isFinal: false, lacks } as const;
      const attempt = (): Decision<string> => {
        tried.push(name);
        return refusal;
      };
      return waiting.wait({ resources, uid, isStranger: true }, attempt, refusal);
    };
    const requests = [
      wait('before', ['x'], 4001),
      wait('leaver', ['y', 'x'], 4002),
      wait('kept', ['y'], 4003),
      wait('own', ['z', 'x'], 4002),
      wait('beside', ['x'], 4004),
    ];
    requests[1]?.leave();
    // Those that the first one keeps from x are kept from it still.
    assert.deepEqual(tried, ['kept']);
    for (const { leave } of requests) leave();
    assert.equal(waiting.size, 0);
    await Promise.all(requests.map(({ result }) => result));
  });
});
