import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Owners } from '../../../src/front/owners.js';
import type { PodHolding } from '../../../src/front/ports.js';
import { sleep } from '../../../src/kernel/clock.js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { CallFailed } from '../../../src/platform/grpc/plugin-client.js';
import { FakeClock } from '../../support/fake-clock.js';

const RESOURCE = 'example.com/a';
/** Pods were offered it before. */
const BEFORE = 'example.com/before';

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
  const facts = {
    holdings: [] as readonly PodHolding[],
    gets: 0,
    lists: 0,
    /** Small steps of taking answers. */
    steps: 0,
    /** Each of them waits for it. */
    rest: undefined as Promise<void> | undefined,
    isMute: false,
    /** Of the next Gets. */
    failures: [] as Error[],
    hasList: true,
    /** Of the last List. */
    signal: undefined as AbortSignal | undefined,
    list: undefined as (() => Promise<readonly PodHolding[]>) | undefined,
  };
  const changed: string[] = [];
  const told: string[] = [];
  const asked: (string | undefined)[] = [];
  const owners = new Owners({
    clock,
    podResources: {
      list: (_limitMs, signal) => {
        facts.lists += 1;
        facts.signal = signal;
        if (facts.list !== undefined) return facts.list();
        return facts.hasList ? Promise.resolve(facts.holdings) : Promise.reject(new Error('unimplemented'));
      },
      get: async (_namespace, pod, limitMs, signal) => {
        facts.gets += 1;
        const failure = facts.failures.shift();
        if (failure !== undefined) throw failure;
        if (facts.isMute) {
          await sleep(clock, limitMs, signal);
          throw new Error('no answer in time');
        }
        return facts.holdings.filter((one) => one.pod === pod);
      },
      usable: () => Promise.resolve(new Set([RESOURCE])),
    },
    rests: () => () => {
      facts.steps += 1;
      return facts.rest;
    },
    before: { has: (resource) => resource === BEFORE },
    asked: (problem) => void asked.push(problem),
    confirmed: (problem) => void told.push(problem ?? 'confirmed'),
    usedTwice: (_resource, message) => void told.push(message),
  });
  owners.listeners.follow({ ownersChanged: (resource) => void changed.push(resource) });
  return { clock, facts, owners, changed, told, asked };
}

/** The kubelet was asked once. */
async function askedWorld(holdings: readonly PodHolding[] = []) {
  const made = world();
  made.facts.holdings = holdings;
  made.owners.open();
  await made.clock.advance(1);
  return made;
}

describe('the check before devices are given a second time', () => {
  const never = new AbortController().signal;

  it('names the pod that has one of them', async () => {
    const { facts, owners } = await askedWorld(pods(3));
    assert.match((await owners.takenBy(RESOURCE, ['d2'], never)) ?? '', /"d2" is in use by pod default\/p2/);
    facts.holdings = [];
    assert.equal(await owners.takenBy(RESOURCE, ['d0', 'd2'], never), undefined);
    assert.equal(facts.gets, 3);
    owners.close();
  });

  it('asks again where the kubelet has too many callers, as all of them share one limit', async () => {
    const { clock, facts, owners, told } = await askedWorld(pods(3));
    facts.failures = Array.from(
      { length: 3 },
      () => new CallFailed(GRPC_STATUS.RESOURCE_EXHAUSTED, 'rejected by rate limit'),
    );
    const taken = owners.takenBy(RESOURCE, ['d2'], never);
    await clock.advance(150);
    assert.match((await taken) ?? '', /"d2" is in use by pod default\/p2/);
    assert.deepEqual([facts.gets, told], [4, ['confirmed']]);
    facts.gets = 0;
    facts.failures = Array.from(
      { length: 30 },
      () => new CallFailed(GRPC_STATUS.RESOURCE_EXHAUSTED, 'rejected by rate limit'),
    );
    const late = owners.takenBy(RESOURCE, ['d2'], never);
    await clock.advance(1000);
    assert.equal(await late, undefined, 'after a second what is not confirmed is not refused');
    assert.deepEqual([facts.gets, told], [20, ['confirmed', 'rejected by rate limit']]);
    owners.close();
  });

  it('refuses nothing where the kubelet does not answer it, and says so', async () => {
    const { facts, owners, told } = await askedWorld(pods(3));
    facts.failures = [new CallFailed(GRPC_STATUS.UNKNOWN, 'PodResources API Get method disabled')];
    assert.equal(await owners.takenBy(RESOURCE, ['d2'], never), undefined);
    assert.deepEqual([facts.gets, told], [1, ['PodResources API Get method disabled']]);
    owners.close();
  });

  it('takes a second in all where the kubelet does not answer, however many pods there are', async () => {
    const { clock, facts, owners } = await askedWorld(pods(20));
    facts.isMute = true;
    const ids = facts.holdings.flatMap((one) => one.ids);
    let answer: unknown = 'none';
    void owners.takenBy(RESOURCE, ids, never).then((taken) => (answer = taken));
    await clock.advance(1000);
    assert.equal(answer, undefined);
    owners.close();
  });
});

describe('a device that one answer names for two pods', () => {
  it('is told once, until it is of one pod alone', async () => {
    const twice = [...pods(2), ...pods(1).map((one) => ({ ...one, pod: 'q' }))];
    const { clock, facts, owners, told } = await askedWorld(twice);
    const sentence =
      'device "d0" of example.com/a is in use by pods default/p0 and default/q, as the kubelet says; end one of them';
    assert.deepEqual(told, [sentence]);
    await clock.advance(10_000);
    assert.equal(told.length, 1);
    facts.holdings = pods(2);
    await clock.advance(10_000);
    facts.holdings = twice;
    await clock.advance(10_000);
    assert.deepEqual(told, [sentence, sentence]);
    owners.close();
  });
});

describe('devices that an Allocate was answered with', () => {
  it('are held until two answers of the kubelet have named them for nobody', async () => {
    const { clock, owners, changed } = await askedWorld();
    owners.giving(RESOURCE, ['d0', 'd1']);
    assert.deepEqual([owners.idsOf(RESOURCE), owners.heldOf(RESOURCE)], [['d0', 'd1'], 2]);
    await clock.advance(10_000);
    assert.deepEqual([owners.heldOf(RESOURCE), changed], [2, []]);
    await clock.advance(10_000);
    assert.deepEqual([owners.heldOf(RESOURCE), changed], [0, [RESOURCE]]);
    owners.close();
  });

  it('are of the pod that has them then, each counted once', async () => {
    const { clock, facts, owners } = await askedWorld();
    owners.giving(RESOURCE, ['d0']);
    facts.holdings = pods(2);
    await clock.advance(10_000);
    assert.equal(owners.heldOf(RESOURCE), 2);
    assert.deepEqual([...owners.of(RESOURCE).keys()], ['d0', 'd1']);
    await clock.advance(100_000);
    assert.equal(owners.heldOf(RESOURCE), 2);
    owners.close();
  });

  it('are not taken for free by an answer to what was asked before', async () => {
    const { clock, facts, owners } = world();
    let answer = (): void => undefined;
    facts.holdings = [];
    owners.open();
    await clock.advance(1);
    facts.list = () => new Promise((resolve) => (answer = () => resolve([])));
    await clock.advance(10_000);
    owners.giving(RESOURCE, ['d0']);
    facts.list = undefined;
    answer();
    await clock.advance(10_000);
    assert.equal(owners.heldOf(RESOURCE), 1, 'of two answers the first was asked for before');
    await clock.advance(10_000);
    assert.equal(owners.heldOf(RESOURCE), 0);
    owners.close();
  });

  it('are held for a minute where the kubelet never names owners, and as long as it does not where it did', async () => {
    const { clock, facts, owners } = world();
    facts.hasList = false;
    owners.open();
    owners.giving(RESOURCE, ['d0']);
    await clock.advance(59_000);
    assert.equal(owners.heldOf(RESOURCE), 1);
    await clock.advance(11_000);
    assert.equal(owners.heldOf(RESOURCE), 0);
    facts.hasList = true;
    await clock.advance(10_000);
    facts.hasList = false;
    owners.giving(RESOURCE, ['d0']);
    await clock.advance(600_000);
    assert.equal(owners.heldOf(RESOURCE), 1);
    owners.close();
  });
});

describe('what pods have had since before this life, or were given while the kubelet says nothing', () => {
  it('is known when the kubelet has answered twice, and not by attempts that fail', async () => {
    const { clock, facts, owners } = world();
    let known = 0;
    owners.listeners.follow({ ownersKnown: () => void (known += 1) });
    facts.hasList = false;
    owners.open();
    await clock.advance(60_000);
    assert.match(owners.unsure(BEFORE) ?? '', /^that has said twice/);
    assert.equal(owners.unsure(RESOURCE), undefined, 'no pod was ever offered it');
    owners.giving(RESOURCE, ['d0']);
    await clock.advance(120_000);
    assert.equal(owners.heldOf(RESOURCE), 0);
    assert.notEqual(owners.unsure(RESOURCE), undefined, 'it was given, and nobody has said that it is free');
    facts.hasList = true;
    await clock.advance(10_000);
    assert.notEqual(owners.unsure(BEFORE), undefined, 'pods of this moment may be missing in one answer');
    assert.equal(known, 0);
    await clock.advance(10_000);
    assert.deepEqual([owners.unsure(BEFORE), owners.unsure(RESOURCE), known], [undefined, undefined, 1]);
    await clock.advance(30_000);
    assert.equal(known, 1);
    owners.close();
  });
});

describe('the kubelet that waits for an Allocate', () => {
  it('is not asked for all pods until a second after that has ended, however long it takes, and is asked once then', async () => {
    const { clock, facts, owners } = await askedWorld();
    assert.deepEqual([facts.lists, owners.mayList(0)], [1, true]);
    owners.allocating(1);
    assert.equal(owners.mayList(Infinity), false);
    await clock.advance(30_000);
    assert.deepEqual([facts.lists, clock.pending], [1, 0]);
    owners.allocating(-1);
    await clock.advance(999);
    assert.deepEqual([facts.lists, owners.mayList(0)], [1, false], 'the next container of the pod may come');
    assert.equal(owners.mayList(Infinity), false);
    await clock.advance(1);
    assert.deepEqual([facts.lists, owners.mayList(0)], [2, true]);
    await clock.advance(9999);
    assert.equal(facts.lists, 2);
    await clock.advance(1);
    assert.equal(facts.lists, 3, 'and every ten seconds again');
    owners.close();
  });

  it('is asked after the end of the last of several', async () => {
    const { clock, facts, owners } = await askedWorld();
    owners.allocating(1);
    owners.allocating(1);
    await clock.advance(12_000);
    owners.allocating(-1);
    await clock.advance(1);
    assert.deepEqual([facts.lists, owners.mayList(0)], [1, false]);
    owners.allocating(-1);
    await clock.advance(1000);
    assert.equal(facts.lists, 2);
    owners.close();
  });

  it('is asked no earlier for one that ended before it was time', async () => {
    const { clock, facts, owners } = await askedWorld();
    owners.allocating(1);
    await clock.advance(3000);
    owners.allocating(-1);
    await clock.advance(6998);
    assert.equal(facts.lists, 1);
    await clock.advance(1);
    assert.equal(facts.lists, 2);
    owners.close();
  });

  it('is asked for none while its first answer would be due', async () => {
    const { clock, facts, owners } = world();
    owners.allocating(1);
    owners.open();
    await clock.advance(30_000);
    assert.equal(facts.lists, 0);
    owners.allocating(-1);
    await clock.advance(1000);
    assert.equal(facts.lists, 1);
    owners.close();
  });
});

describe('an Allocate that comes while the kubelet is being asked for all pods', () => {
  /** Asked once, and again without an answer; ended by the signal only. */
  async function asking() {
    const made = await askedWorld();
    const { clock, facts } = made;
    facts.list = () =>
      new Promise((_, reject) => facts.signal?.addEventListener('abort', () => reject(new Error('cancelled'))));
    await clock.advance(10_000);
    assert.equal(facts.lists, 2);
    return made;
  }

  it('ends what cannot have been sent yet, which counts neither as an answer nor as a failure', async () => {
    const { clock, facts, owners, asked } = await asking();
    await clock.advance(98);
    const theirs = owners.listing();
    owners.allocating(1);
    assert.deepEqual([facts.signal?.aborted, theirs.aborted], [true, true]);
    await clock.settle();
    facts.list = undefined;
    owners.allocating(-1);
    assert.deepEqual(asked, [undefined]);
    await clock.advance(999);
    assert.equal(facts.lists, 2, 'and the kubelet is asked after a quiet second');
    await clock.advance(1);
    assert.deepEqual([facts.lists, asked], [3, [undefined, undefined]]);
    owners.close();
  });

  it('lets go on what the kubelet has read by then', async () => {
    const { clock, facts, owners } = await asking();
    const theirs = owners.listing();
    await clock.advance(100);
    owners.allocating(1);
    assert.deepEqual([facts.signal?.aborted, theirs.aborted], [false, false]);
    owners.close();
    assert.equal(facts.signal?.aborted, true, 'it ends with the front');
  });
});

describe('an answer of the kubelet with many devices', () => {
  const many = (pod: string): PodHolding => {
    const ids = Array.from({ length: 1000 }, (_, nth) => `d${String(nth)}`);
    return { namespace: 'default', pod, container: 'c', resource: RESOURCE, ids };
  };

  it('is gone over in small steps, and what was known counts until all of it is read', async () => {
    const { clock, facts, owners, changed } = await askedWorld(pods(2));
    changed.length = 0;
    facts.holdings = [many('q')];
    let goOn = (): void => undefined;
    facts.rest = new Promise((resolve) => (goOn = resolve));
    facts.steps = 0;
    await clock.advance(10_000);
    assert.deepEqual([facts.steps, owners.idsOf(RESOURCE), changed], [1, ['d0', 'd1'], []]);
    owners.giving(RESOURCE, ['new']);
    goOn();
    await clock.settle();
    facts.rest = undefined;
    assert.deepEqual([facts.steps, owners.heldOf(RESOURCE), changed], [1002, 1001, [RESOURCE]]);
    owners.close();
  });

  it('is not taken where the broker stops meanwhile', async () => {
    const { clock, facts, owners, changed, asked } = await askedWorld(pods(2));
    facts.holdings = [many('q')];
    let goOn = (): void => undefined;
    facts.rest = new Promise((resolve) => (goOn = resolve));
    await clock.advance(10_000);
    owners.close();
    goOn();
    await clock.settle();
    assert.deepEqual([changed.length, asked.length, clock.pending], [1, 1, 0]);
  });

  it('is kept as one owner for all devices that a container has, and their ids are put together once', async () => {
    const { clock, facts, owners } = await askedWorld([many('p')]);
    assert.equal(new Set(owners.of(RESOURCE).values()).size, 1);
    const ids = owners.idsOf(RESOURCE);
    await clock.advance(10_000);
    assert.equal(owners.idsOf(RESOURCE), ids);
    facts.holdings = [];
    await clock.advance(10_000);
    assert.equal(new Set(owners.of(RESOURCE).values()).size, 1);
    await clock.advance(10_000);
    assert.deepEqual(owners.idsOf(RESOURCE), []);
    owners.close();
  });
});

describe('devices of pods from before the start of the broker', () => {
  for (const [what, hasList] of [
    ['has said it', true],
    ['is not there', false],
  ] as const) {
    it(`is waited for until the kubelet ${what}`, async () => {
      const { clock, facts, owners } = world();
      Object.assign(facts, { hasList, holdings: pods(2) });
      let held = -1;
      void owners.asked().then(() => (held = owners.heldOf(RESOURCE)));
      await clock.settle();
      assert.equal(held, -1);
      owners.open();
      await clock.advance(1);
      assert.equal(held, hasList ? 2 : 0);
      owners.close();
      assert.equal(clock.pending, 0);
    });
  }

  it('is waited for a second where the kubelet does not answer, and not when all ends', async () => {
    const { clock, facts, owners } = world();
    facts.list = () => new Promise(() => undefined);
    owners.open();
    let waited = 0;
    void owners.asked().then(() => (waited += 1));
    await clock.advance(999);
    assert.equal(waited, 0);
    await clock.advance(1);
    assert.equal(waited, 1);
    void owners.asked().then(() => (waited += 1));
    owners.close();
    await clock.settle();
    assert.deepEqual([waited, clock.pending], [2, 0]);
  });
});

describe('a kubelet that gives one device after another', () => {
  it('is asked for all pods between two calls when the last answer is a minute old', async () => {
    const { clock, facts, owners } = await askedWorld();
    for (let calls = 0; calls < 119; calls += 1) {
      owners.allocating(1);
      await clock.advance(100);
      owners.allocating(-1);
      await clock.advance(400);
    }
    assert.deepEqual([owners.mayList(0), owners.mayList(Infinity)], [false, false]);
    owners.allocating(1);
    await clock.advance(600);
    assert.equal(facts.lists, 1);
    owners.allocating(-1);
    await clock.advance(199);
    assert.deepEqual([owners.mayList(0), owners.mayList(Infinity)], [false, false], 'the next call may come now');
    assert.equal(facts.lists, 1);
    await clock.advance(1);
    assert.deepEqual([owners.mayList(0), owners.mayList(Infinity)], [false, true]);
    assert.equal(facts.lists, 2);
    owners.close();
  });

  it('has the busiest ordinary user wait for that, where not even 200 ms come between two, until it has answered', async () => {
    const { clock, facts, owners } = await askedWorld();
    const call = async (user: number | undefined, ms: number, pauseMs: number): Promise<void> => {
      owners.allocating(1, user);
      await clock.advance(ms);
      owners.allocating(-1, user, ms);
      await clock.advance(pauseMs);
    };
    const waits = (): boolean[] => [4001, 4002].map((user) => owners.needsQuiet(user));
    for (let calls = 0; calls < 230; calls += 1) {
      await call(4001, 100, 50);
      await call(4002, 20, 50);
      await call(undefined, 20, 50);
      assert.deepEqual(waits(), [false, false]);
    }
    for (let calls = 0; calls < 40 && !owners.needsQuiet(4001); calls += 1) await call(4001, 100, 0);
    assert.deepEqual([waits(), facts.lists], [[true, false], 1]);
    let answer = (): void => undefined;
    facts.list = () => new Promise((resolve) => (answer = () => resolve([])));
    await clock.advance(200);
    assert.deepEqual([waits(), facts.lists], [[true, false], 2], 'a call now would overtake the answer');
    answer();
    await clock.settle();
    assert.deepEqual(waits(), [false, false]);
    owners.close();
  });

  it('has nobody wait at the start of a life, nor where root keeps it busy', async () => {
    const { clock, owners } = world();
    owners.open();
    assert.equal(owners.needsQuiet(4001), false);
    owners.close();
    const other = await askedWorld();
    for (let calls = 0; calls < 1600; calls += 1) {
      const [user, ms] = calls % 2 === 0 ? [undefined, 60] : [4001, 20];
      other.owners.allocating(1, user);
      await other.clock.advance(ms);
      other.owners.allocating(-1, user, ms);
    }
    assert.deepEqual([other.facts.lists, other.owners.needsQuiet(4001), clock.pending], [1, false, 0]);
    other.owners.close();
  });
});
