import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FrontCalls } from '../../../src/front/calls.js';
import type { DeviceCall, FrontFailure, ResourceNow } from '../../../src/front/ports.js';
import type { DeviceMethod } from '../../../src/model/device-use.js';
import type { TransportFault } from '../../../src/model/failed-call.js';
import { FakeClock } from '../../support/fake-clock.js';
import { NO_OWNERS, READY, WIRE } from '../../support/front-ports.js';

const failedCall = (status: number, message: string, fault?: TransportFault): Error =>
  Object.assign(new Error(message), { status, fault });

/** A resource whose plugin answers as it is told to. */
function world() {
  const clock = new FakeClock();
  const facts = {
    instance: 'first',
    state: 'ready' as ResourceNow['state'],
    /** Further facts about the resource. */
    more: {} as Partial<ResourceNow>,
    /** The ids of each request, and the health of the devices that are listed. */
    ids: ['d'] as readonly string[],
    health: { d: true } as Readonly<Record<string, boolean>>,
    isAlive: true,
    /** How often it was asked for a sign of life. */
    probes: 0,
    /** Allocates that the owners know to be under way. */
    underWay: 0,
    asked: [] as string[],
    given: [] as string[],
    /** Milliseconds that calls waited at the gate before it opened. */
    waited: [] as number[],
    answer: (_instanceId: string, _call: DeviceCall, _signal: AbortSignal): Promise<Buffer> =>
      Promise.resolve(Buffer.from('ok')),
  };
  const calls = new FrontCalls({
    resource: 'example.com/a',
    clock,
    resources: {
      now: () => ({ ...READY, instanceId: facts.instance, state: facts.state, ...facts.more }),
      call: (instanceId, asked, signal) => {
        facts.asked.push(instanceId);
        return facts.answer(instanceId, asked, signal);
      },
      isAlive: () => {
        facts.probes++;
        return Promise.resolve(facts.isAlive);
      },
    },
    owners: {
      ...NO_OWNERS,
      giving: (_resource, ids) => void facts.given.push(...ids),
      allocating: (by) => void (facts.underWay += by),
    },
    wire: {
      ...WIRE,
      idsOf: () => facts.ids,
      unlisted: () => assert.fail('a list may be long: it is read in turns'),
      healthInTurns: () => Promise.resolve(new Map(Object.entries(facts.health))),
      started: Buffer.from('started'),
    },
    limits: { holdMs: 2000, allocateMs: 1000, preferredMs: 1000, preStartMs: 1000 },
    speculation: () => 'off',
    gateWaited: (seconds) => void facts.waited.push(seconds * 1000),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const call = (method: DeviceMethod): Promise<string> =>
    calls.call(method, Buffer.from('q'), new AbortController()).then(
      (bytes) => bytes.toString(),
      (failure: unknown) => {
        const { status, message } = failure as FrontFailure;
        return `${String(status)} ${message}`;
      },
    );
  const allocate = (): Promise<string> => call('Allocate');
  const preStart = (): Promise<string> => call('PreStartContainer');
  return { clock, facts, calls, settle, call, allocate, preStart };
}

const WANTS_PRE_START = { options: { preStartRequired: true, preferredAllocationAvailable: false } } as const;

describe('an Allocate of the kubelet', () => {
  it('has its devices noted while its plugin is asked and when it has answered, and none before that', async () => {
    const { clock, facts, allocate } = world();
    let seen = -1;
    facts.answer = () => {
      seen = facts.given.length;
      return Promise.resolve(Buffer.from('ok'));
    };
    assert.equal(await allocate(), 'ok');
    assert.deepEqual([seen, facts.given], [1, ['d', 'd']]);
    facts.given = [];
    facts.state = 'held';
    const refused = allocate();
    await clock.advance(2000);
    assert.match(await refused, /did not come back in time/);
    assert.deepEqual(facts.given, []);
  });

  it('that the end of the broker cuts off says so, wherever it waits', async () => {
    for (const state of ['ready', 'held'] as const) {
      const { facts, calls, settle, allocate } = world();
      facts.state = state;
      facts.answer = (_instanceId, _call, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(failedCall(1, 'given up', 'given-up')), { once: true }),
        );
      const answered = allocate();
      await settle();
      calls.close();
      assert.match(await answered, /^14 .*the broker is stopping/);
    }
  });

  it('is told to the owners while it is under way, however it ends', async () => {
    const { clock, facts, settle, allocate } = world();
    let during = -1;
    facts.answer = () => {
      during = facts.underWay;
      return Promise.reject(failedCall(9, 'the lid is open'));
    };
    await allocate();
    assert.deepEqual([during, facts.underWay], [1, 0]);
    facts.state = 'held';
    const refused = allocate();
    await settle();
    assert.equal(facts.underWay, 1);
    await clock.advance(2000);
    await refused;
    assert.equal(facts.underWay, 0);
  });

  it('that is cut off is asked again of the successor, also when the call ends before the loss is known', async () => {
    const { facts, calls, settle, allocate } = world();
    facts.answer = (instanceId) =>
      instanceId === 'first'
        ? Promise.reject(failedCall(14, 'Connection dropped', 'hung-up'))
        : Promise.resolve(Buffer.from('second'));
    const answered = allocate();
    await settle();
    facts.state = 'held';
    calls.changed();
    await settle();
    Object.assign(facts, { instance: 'second', state: 'ready' });
    calls.changed();
    assert.equal(await answered, 'second');
    assert.deepEqual(facts.asked, ['first', 'second']);
  });

  it('that is cut off fails in half a second when its plugin is there all the same', async () => {
    const { clock, facts, settle, allocate } = world();
    facts.answer = () => Promise.reject(failedCall(14, 'Connection dropped', 'hung-up'));
    const answered = allocate();
    await settle();
    await clock.advance(499);
    assert.equal(clock.pending, 1);
    await clock.advance(1);
    assert.match(await answered, /its plugin failed Allocate: Connection dropped/);
    assert.deepEqual([facts.asked.length, clock.pending], [1, 0]);
  });

  it('that the plugin itself refuses fails at once, in its words', async () => {
    const { facts, clock, allocate } = world();
    facts.answer = () => Promise.reject(failedCall(14, 'Connection dropped by the card'));
    assert.match(await allocate(), /its plugin failed Allocate: Connection dropped by the card/);
    assert.equal(clock.pending, 0);
  });

  it('is refused for a device that is not listed any more, and the plugin is not asked', async () => {
    const { clock, facts, allocate } = world();
    facts.ids = ['d', 'gone'];
    assert.match(await allocate(), /^9 .*: device "gone" is not listed by its plugin any more; see/);
    assert.deepEqual([facts.asked, facts.given, facts.underWay, clock.pending], [[], [], 0, 0]);
  });

  it('is refused for a device that its plugin does not list any more when it is back', async () => {
    const { facts, calls, settle, allocate } = world();
    facts.state = 'held';
    const refused = allocate();
    await settle();
    Object.assign(facts, { state: 'ready', health: { other: true } });
    calls.changed();
    assert.match(await refused, /device "d" is not listed/);
    assert.deepEqual(facts.asked, []);
  });

  it('is passed on for a device that is not healthy: the kubelet did not know it yet', async () => {
    const { facts, allocate } = world();
    facts.health = { d: false };
    assert.equal(await allocate(), 'ok');
  });
});

describe('the advice of a plugin', () => {
  it('is told to the owners while it is asked for, as the kubelet gives devices right after it', async () => {
    const { facts, call } = world();
    facts.more = { options: { preStartRequired: false, preferredAllocationAvailable: true } };
    let during = -1;
    facts.answer = () => {
      during = facts.underWay;
      return Promise.reject(failedCall(14, 'Connection dropped'));
    };
    await call('GetPreferredAllocation');
    assert.deepEqual([during, facts.underWay], [1, 0]);
  });
});

describe('an Allocate while its plugin is not there', () => {
  for (const [what, state, more, expected] of [
    ['of another boot', 'held', { isHint: true, isConfirmed: false }, /^14 .*: its plugin is held \(registered\); see/],
    ['gone', 'gone', {}, /^14 .*: its plugin is gone \(registered\); see/],
    ['in quarantine', 'quarantined', {}, /^9 .*: its plugin is quarantined \(registered\); see/],
  ] as const) {
    it(`is refused at once when that is ${what}`, async () => {
      const { clock, facts, allocate } = world();
      Object.assign(facts, { state, more });
      assert.match(await allocate(), expected);
      assert.deepEqual([clock.pending, facts.asked], [0, []]);
    });
  }

  it('is passed on to one that lost its path, and to its successor where that call is cut off', async () => {
    const { facts, calls, settle, allocate } = world();
    facts.state = 'orphaned';
    assert.equal(await allocate(), 'ok');
    facts.answer = (instance) =>
      instance === 'second'
        ? Promise.resolve(Buffer.from('second'))
        : Promise.reject(failedCall(14, 'Connection dropped', 'hung-up'));
    const answered = allocate();
    await settle();
    Object.assign(facts, { instance: 'second', state: 'ready' });
    calls.changed();
    assert.equal(await answered, 'second');
  });

  it('that an orphaned plugin refuses is refused once', async () => {
    const { facts, allocate } = world();
    facts.state = 'orphaned';
    facts.answer = () => Promise.reject(failedCall(3, 'no such device'));
    assert.match(await allocate(), /^3 .*no such device/);
    assert.equal(facts.asked.length, 1);
  });

  it('is held for a plugin that is away, passed on when it is back, and is UNAVAILABLE when that takes longer', async () => {
    const { clock, facts, calls, allocate } = world();
    facts.state = 'held';
    const answered = allocate();
    await clock.advance(1999);
    facts.state = 'ready';
    calls.changed();
    assert.equal(await answered, 'ok');
    facts.state = 'restored';
    const refused = allocate();
    await clock.advance(2000);
    assert.match(await refused, /^14 .*: its plugin is restored \(registered\) and did not come back in time/);
    assert.equal(facts.asked.length, 1);
  });
});

describe('after a call that its plugin did not answer in time', () => {
  /** A world in which that happened just now. */
  const silent = async (): Promise<ReturnType<typeof world>> => {
    const one = world();
    one.facts.answer = () => Promise.reject(failedCall(4, 'no answer in time', 'no-answer'));
    one.facts.isAlive = false;
    assert.match(await one.allocate(), /^14 .*: its plugin did not answer Allocate within 1000 ms/);
    one.facts.answer = () => Promise.resolve(Buffer.from('ok'));
    one.facts.asked = [];
    return one;
  };

  it('each Allocate is refused at once and the plugin is not asked, until it shows a sign of life', async () => {
    const { clock, facts, allocate } = await silent();
    for (let second = 1; second <= 5; second++) {
      assert.match(
        await allocate(),
        /^14 .*: its plugin did not answer the last call in time, and has not answered since/,
      );
      await clock.advance(1000);
      assert.equal(facts.probes, second, 'asked for a sign of life once a second');
    }
    assert.deepEqual(facts.asked, []);
    facts.isAlive = true;
    await clock.advance(1000);
    assert.equal(await allocate(), 'ok');
    assert.deepEqual([facts.asked, clock.pending], [['first'], 0]);
  });

  it('no Allocate is passed on before it was asked for a sign of life, even if it would give one', async () => {
    const { clock, facts, allocate } = await silent();
    facts.isAlive = true;
    await clock.advance(999);
    assert.match(await allocate(), /^14 /);
    await clock.advance(1);
    assert.equal(await allocate(), 'ok');
  });

  it('its successor is asked without waiting for one', async () => {
    const { clock, facts, calls, allocate } = await silent();
    facts.instance = 'second';
    calls.changed();
    assert.equal(await allocate(), 'ok');
    await clock.advance(1000);
    assert.deepEqual([facts.asked, clock.pending], [['second'], 0]);
  });

  it('it is asked after longer and longer, up to a minute, where it gives signs of life and no answers, restarted or not', async () => {
    const { clock, facts, calls, allocate } = await silent();
    facts.isAlive = true;
    facts.answer = () => Promise.reject(failedCall(4, 'no answer in time', 'no-answer'));
    await clock.advance(1000);
    for (const [nth, quietMs] of [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].entries()) {
      assert.match(await allocate(), /did not answer Allocate within/);
      facts.instance = `${String(nth)}th successor`;
      calls.changed();
      await clock.advance(quietMs - 1);
      assert.match(await allocate(), /has not answered since/, String(quietMs));
      await clock.advance(1);
    }
    assert.equal(facts.asked.length, 7);
    await clock.advance(300_000);
    assert.match(await allocate(), /did not answer Allocate within/);
    await clock.advance(1000);
    facts.answer = () => Promise.resolve(Buffer.from('ok'));
    assert.equal(await allocate(), 'ok', 'after five minutes without a time-out it is the first again');
  });

  it('advice is left out, and containers wait at the gate for the sign of life', async () => {
    const { clock, facts, calls, settle, preStart } = await silent();
    facts.more = { options: { preStartRequired: true, preferredAllocationAvailable: true } };
    const advice = await calls.call('GetPreferredAllocation', Buffer.alloc(0), new AbortController());
    assert.equal(advice, WIRE.noPreference);
    let answer = '';
    void preStart().then((got) => (answer = got));
    await clock.advance(5000);
    assert.deepEqual([answer, facts.asked], ['', []]);
    facts.isAlive = true;
    await clock.advance(1000);
    await settle();
    assert.deepEqual([answer, facts.asked], ['ok', ['first']]);
  });

  it('containers that wait for it in vain are told what they waited for', async () => {
    const { clock, settle, preStart } = await silent();
    let answer = '';
    void preStart().then((got) => (answer = got));
    await clock.advance(25_000);
    await settle();
    assert.match(answer, /^14 .*: its plugin did not answer the last call in time, and has not answered since; see/);
  });
});

describe('a PreStartContainer of the kubelet', () => {
  it('is answered at once, without the plugin, where that did not ask for it', async () => {
    const { clock, facts, preStart } = world();
    assert.equal(await preStart(), 'started');
    assert.deepEqual([facts.asked, facts.waited, clock.pending], [[], [0], 0]);
  });

  it('is passed on to a plugin that asked for it', async () => {
    const { facts, preStart } = world();
    facts.more = WANTS_PRE_START;
    assert.equal(await preStart(), 'ok');
    assert.deepEqual(facts.asked, ['first']);
  });

  for (const [what, state, more] of [
    ['held', 'held', {}],
    ['restored and not reached yet', 'restored', { isConfirmed: false }],
    ['of another boot', 'held', { isHint: true, isConfirmed: false }],
    ['gone', 'gone', {}],
  ] as const) {
    it(`waits 25 s for a plugin that is ${what}, and is UNAVAILABLE then`, async () => {
      const { clock, facts, settle, preStart } = world();
      Object.assign(facts, { state, more });
      let answer = '';
      void preStart().then((got) => (answer = got));
      await clock.advance(24_999);
      assert.equal(answer, '');
      await clock.advance(1);
      await settle();
      assert.match(
        answer,
        new RegExp(`^14 example.com/a: its plugin is ${state} \\(registered\\) and did not come back in time`),
      );
      assert.deepEqual([facts.asked, facts.waited, clock.pending], [[], [], 0]);
    });
  }

  it('passes when the plugin is back within that time, and what it waited is measured', async () => {
    const { clock, facts, calls, preStart } = world();
    facts.state = 'held';
    const answered = preStart();
    await clock.advance(24_000);
    facts.state = 'ready';
    calls.changed();
    assert.equal(await answered, 'started');
    assert.deepEqual([facts.waited, clock.pending], [[24_000], 0]);
  });

  it('leaves the plugin what is left of the time in which the kubelet waits', async () => {
    const { clock, facts, calls, settle, preStart } = world();
    let limitMs = 0;
    Object.assign(facts, { state: 'held', more: WANTS_PRE_START });
    facts.answer = (_instanceId, call) => {
      ({ limitMs } = call);
      return Promise.resolve(Buffer.from('ok'));
    };
    const answered = preStart();
    await settle();
    await clock.advance(24_700);
    facts.state = 'ready';
    calls.changed();
    assert.equal(await answered, 'ok');
    assert.equal(limitMs, 300);
  });

  it('is refused at once while the plugin is in quarantine', async () => {
    const { clock, facts, preStart } = world();
    facts.state = 'quarantined';
    assert.match(await preStart(), /^9 example.com\/a: its plugin is quarantined \(registered\); see/);
    assert.deepEqual([facts.asked, clock.pending], [[], 0]);
  });

  for (const [what, ids, sentence] of [
    ['not healthy', ['d', 'bad'], 'device "bad" is not healthy'],
    ['not listed any more', ['gone', 'd'], 'device "gone" is not listed by its plugin any more'],
  ] as const) {
    it(`is refused for a device that is ${what}, and the plugin is not asked`, async () => {
      const { facts, preStart } = world();
      Object.assign(facts, { ids, health: { d: true, bad: false }, more: WANTS_PRE_START });
      assert.equal(await preStart(), `9 example.com/a: ${sentence}; see plugin-broker explain example.com/a`);
      assert.deepEqual(facts.asked, []);
    });
  }

  it('that the plugin does not answer in time is UNAVAILABLE, so that the kubelet tries again', async () => {
    const { facts, preStart } = world();
    facts.more = WANTS_PRE_START;
    facts.answer = () => Promise.reject(failedCall(4, 'no answer in time', 'no-answer'));
    assert.match(await preStart(), /^14 example.com\/a: its plugin did not answer PreStartContainer within 1000 ms/);
  });
});
