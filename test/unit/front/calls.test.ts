import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FrontCalls } from '../../../src/front/calls.js';
import type { ResourceNow } from '../../../src/front/ports.js';
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
    asked: [] as string[],
    given: [] as string[],
    answer: (_instanceId: string): Promise<Buffer> => Promise.resolve(Buffer.from('ok')),
  };
  const calls = new FrontCalls({
    resource: 'example.com/a',
    clock,
    resources: {
      names: () => ['example.com/a'],
      now: () => ({ ...READY, instanceId: facts.instance, state: facts.state }),
      call: (instanceId) => {
        facts.asked.push(instanceId);
        return facts.answer(instanceId);
      },
      isAlive: () => Promise.resolve(true),
    },
    owners: { ...NO_OWNERS, giving: (_resource, ids) => void facts.given.push(...ids) },
    wire: { ...WIRE, idsOf: () => ['d'] },
    limits: { holdMs: 2000, allocateMs: 1000, preferredMs: 1000, preStartMs: 1000 },
    speculation: () => 'off',
    gateWaited: () => undefined,
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const allocate = (): Promise<string> =>
    calls.call('Allocate', Buffer.from('q'), new AbortController().signal).then(
      (bytes) => bytes.toString(),
      (failure: unknown) => (failure as Error).message,
    );
  return { clock, facts, calls, settle, allocate };
}

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
});
