import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Owners, type PodHolding } from '../../../src/front/owners.js';
import { sleep } from '../../../src/kernel/clock.js';
import { FakeClock } from '../../support/fake-clock.js';

const RESOURCE = 'example.com/a';

/** A device of each of so many pods. */
const pods = (count: number): PodHolding[] =>
  Array.from({ length: count }, (_, nth) => ({
    namespace: 'default',
    pod: `p${String(nth)}`,
    container: 'c',
    resource: RESOURCE,
    ids: [`d${String(nth)}`],
  }));

/** A kubelet that answers as it is told to. */
function world() {
  const clock = new FakeClock();
  const facts = { holdings: [] as readonly PodHolding[], gets: 0, isMute: false };
  const changed: string[] = [];
  const owners = new Owners({
    clock,
    podResources: {
      list: () => Promise.resolve(facts.holdings),
      get: async (_namespace, pod, limitMs, signal) => {
        facts.gets += 1;
        if (facts.isMute) {
          await sleep(clock, limitMs, signal);
          throw new Error('no answer in time');
        }
        return facts.holdings.filter((one) => one.pod === pod);
      },
      usable: () => Promise.resolve(new Set([RESOURCE])),
    },
    changed: (resource) => void changed.push(resource),
    usable: () => undefined,
    asked: () => undefined,
  });
  return { clock, facts, owners, changed };
}

describe('what is asked before devices are given a second time', () => {
  const never = new AbortController().signal;

  it('names the pod that has one of them', async () => {
    const { clock, facts, owners } = world();
    facts.holdings = pods(3);
    owners.open();
    await clock.advance(1);
    assert.match((await owners.takenBy(RESOURCE, ['d2'], never)) ?? '', /"d2" is in use by pod default\/p2/);
    facts.holdings = [];
    assert.equal(await owners.takenBy(RESOURCE, ['d0', 'd2'], never), undefined);
    assert.equal(facts.gets, 3);
    owners.close();
  });

  it('takes a second in all where the kubelet does not answer, however many pods there are', async () => {
    const { clock, facts, owners } = world();
    facts.holdings = pods(20);
    owners.open();
    await clock.advance(1);
    facts.isMute = true;
    const ids = facts.holdings.flatMap((one) => one.ids);
    let answer: unknown = 'none';
    void owners.takenBy(RESOURCE, ids, never).then((taken) => (answer = taken));
    await clock.advance(1000);
    assert.equal(answer, undefined);
    owners.close();
  });
});
