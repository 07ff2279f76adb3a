import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FloodSubject } from '../../../src/model/flood.js';
import type { Core, CorePorts } from '../../../src/daemon/core.js';
import type { EventDraft } from '../../../src/model/event.js';
import { FaultPort } from '../../../src/faults/fault-port.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { BrokerNews } from '../../../src/model/fault-port.js';
import { FakeClock } from '../../support/fake-clock.js';

const subject = (over: Partial<FloodSubject> = {}): FloodSubject => ({
  ...{ type: 'DevicePlugin', name: 'example.com/a', uid: 0, socket: 'a.sock', caller: undefined },
  ...{ door: 'register', pulled: false, badName: false, endpoint: 'a.sock', versions: ['v1beta1'], ...over },
});

/** A port between a core and neighbours that let everything pass. */
function port() {
  const clock = new FakeClock();
  const news: BrokerNews[] = [];
  const faults = new FaultPort({ clock, random: seededRandom(1), tell: (one) => void news.push(one) });
  const recorded: string[] = [];
  const journal = { seq: 6 };
  const neighbours = {
    events: {
      record: ({ message }: EventDraft) => {
        recorded.push(message);
        if (message !== 'the same again') journal.seq += 1;
      },
    },
    live: { nameAllowed: () => true },
    flood: { quarantined: () => undefined, registration: () => ({ kind: 'pass' }) },
  };
  const { flood, live, events } = faults.disturb(neighbours as unknown as CorePorts);
  const listeners = { follow: () => undefined };
  faults.follow({ roster: { listeners }, inventory: { listeners } } as unknown as Core, journal);
  const fates = (): string[] => news.flatMap((one) => (one.kind === 'call' ? [one.fate] : []));
  return { clock, faults, flood, live, events, recorded, news, fates };
}

describe('the fault port', () => {
  it('changes nothing that was not ordered, and tells of each call of a plugin', () => {
    const { flood, live, news, clock } = port();
    assert.deepEqual([flood.registration(subject()), live.nameAllowed('a')], [{ kind: 'pass' }, true]);
    flood.registration(subject({ pulled: true }));
    const { type, name, door } = subject();
    assert.deepEqual(news, [{ kind: 'call', at: clock.wall(), type, name, door, fate: 'passed', heldMs: 0 }]);
  });

  it('refuses for a time that begins with the first registration, and says when to come back', async () => {
    const { faults, flood, clock, fates } = port();
    faults.obey({ faults: [{ kind: 'refuse', ms: 5000 }] });
    await clock.advance(60_000);
    for (const [afterMs, leftMs] of [
      [0, 5000],
      [3000, 2000],
    ] as const) {
      await clock.advance(afterMs);
      const verdict = flood.registration(subject());
      assert.ok(verdict.kind === 'refuse');
      assert.deepEqual([verdict.refusal.code, verdict.refusal.retryAfterMs], ['FLOOD_REGISTER', leftMs]);
    }
    assert.deepEqual(flood.registration(subject({ pulled: true })), { kind: 'pass' });
    await clock.advance(2000);
    assert.deepEqual(flood.registration(subject()), { kind: 'pass' });
    assert.deepEqual(fates(), ['refused', 'refused', 'passed']);
  });

  it('holds every registration until a time after the first', async () => {
    const { faults, flood, clock, fates, news } = port();
    faults.obey({ faults: [{ kind: 'hang', ms: 9000 }] });
    const first = flood.registration(subject());
    assert.ok(first.kind === 'delay' && first.delayMs === 9000);
    await clock.advance(4000);
    const second = flood.registration(subject());
    assert.ok(second.kind === 'delay' && second.delayMs === 5000);
    const ended = Promise.all([first, second].map(({ wait }) => wait(new AbortController().signal)));
    await clock.advance(9000);
    assert.deepEqual(await ended, [{ kind: 'pass' }, { kind: 'pass' }]);
    assert.deepEqual(flood.registration(subject()), { kind: 'pass' });
    assert.deepEqual(fates(), ['held', 'held', 'passed']);
    assert.deepEqual(
      news.map((one) => one.kind === 'call' && one.heldMs),
      [9000, 5000, 0],
    );
  });

  it('denies one registration for good', () => {
    const { faults, flood, live, fates } = port();
    faults.obey({ faults: [{ kind: 'notify-false' }] });
    const register = (): boolean => {
      const isAllowed = live.nameAllowed('example.com/a'); // admission asks in this order
      flood.registration(subject({ door: 'watcher' }));
      return isAllowed;
    };
    assert.deepEqual([register(), register(), fates()], [false, true, ['denied', 'passed']]);
  });

  it('stops disturbing when it is told to', () => {
    const { faults, flood, live } = port();
    faults.obey({ faults: [{ kind: 'refuse', ms: 5000 }, { kind: 'notify-false' }] });
    flood.registration(subject());
    faults.obey({ faults: [{ kind: 'none' }] });
    assert.deepEqual([flood.registration(subject()), live.nameAllowed('a')], [{ kind: 'pass' }, true]);
  });

  it('tells of phases and events as `events` has them, and passes events on', () => {
    const { faults, events, recorded, news, clock } = port();
    faults.phase('ready');
    events.record({ type: 'broker', message: 'hello' });
    events.record({ type: 'broker', message: 'the same again', uid: 1, facts: { devices: 1 } });
    const at = clock.wall();
    const event = { time: new Date(at).toISOString(), type: 'broker', reason: '', plugin: '', socket: '' } as const;
    assert.deepEqual(news, [
      { kind: 'phase', at, phase: 'ready' },
      { kind: 'event', at, event: { ...event, seq: 7, message: 'hello' } },
      { kind: 'event', at, event: { ...event, message: 'the same again' } },
    ]);
    assert.deepEqual(recorded, ['hello', 'the same again']);
  });

  it('sends no more pictures than leave, and the newest when there is room again', async () => {
    const clock = new FakeClock();
    const pictures: number[] = [];
    const onTheirWay: (() => void)[] = [];
    const faults = new FaultPort({
      clock,
      random: seededRandom(1),
      tell: (news, left = () => undefined) => {
        assert.ok(news.kind === 'picture');
        pictures.push(news.plugins[0]?.allocatable ?? -1);
        onTheirWay.push(left);
      },
    });
    let allocatable = 0;
    const listeners = { follow: () => undefined };
    const instance = { id: 'a', type: 'DevicePlugin', name: 'example.com/a' };
    const offered = { all: () => new Map([[instance.name, { capacity: 1000, allocatable, owner: instance }]]) };
    const roster = { listeners, all: () => [instance], primaryOf: () => instance };
    faults.follow({ roster, offered, inventory: { listeners } } as unknown as Core, { seq: 0 });
    for (; allocatable < 500; allocatable += 1) {
      faults.changed();
      await clock.settle();
    }
    assert.equal(pictures.length, 64);
    onTheirWay.shift()?.();
    assert.deepEqual([pictures.length, pictures.at(-1)], [65, 500]);
    for (const left of onTheirWay.splice(0)) left();
    assert.equal(pictures.length, 65);
    faults.changed();
    allocatable = 7;
    await clock.settle();
    assert.equal(pictures.at(-1), 7);
  });
});
