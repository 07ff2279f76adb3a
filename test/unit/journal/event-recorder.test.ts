import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusalSummary } from '../../../src/flood/refusal-summary.js';
import { EventRecorder } from '../../../src/journal/event-recorder.js';
import { RefusedAgain } from '../../../src/journal/refused-again.js';
import { guardPlugins } from '../../../src/platform/grpc/guarding.js';
import { FakeClock } from '../../support/fake-clock.js';
import { knownInstance } from '../../support/known-instance.js';
import { RecordedEvents, RecordedLog } from '../../support/recorders.js';
import { noMetrics } from '../../support/silence.js';

const STRANGER = 4001;
/** More than the log and status tell apart. */
const MANY = 2000;

class World {
  readonly clock = new FakeClock();
  readonly users = { ownUid: 0, userOf: (uid: number) => uid };
  readonly lines = new RecordedLog();
  readonly log = new RefusalSummary(this.lines, this.clock, this.users);
  readonly events = new RecordedEvents();
  readonly refused = new RefusedAgain(this.events, this.clock, this.users);
  readonly instance = knownInstance({
    listener: { uid: STRANGER, gid: 0, pid: 1, startTime: '1', source: 'peercred' },
  });
  readonly recorder = new EventRecorder({
    events: this.refused,
    log: this.log,
    metrics: noMetrics,
    ...this.users,
    roster: { get: () => this.instance, primaryOf: () => this.instance },
  });
}

describe('refusals at sockets whose plugin is unknown', () => {
  it('count in the share of the owner of the socket, in the log and on the screen', () => {
    const { recorder, lines, refused } = new World();
    const refuse = (path: string, uid: number): void =>
      recorder.refusedAt(path, { code: 'NO_LISTENER', message: `nobody listens on ${path}` }, uid);
    for (let at = 0; at < MANY; at += 1)
      for (let times = 0; times < 3; times += 1) refuse(`/evil/${String(at)}`, STRANGER);
    const before = lines.lines.length;
    for (let at = 0; at < 50; at += 1) for (let times = 0; times < 3; times += 1) refuse(`/mine/${String(at)}`, 0);
    assert.equal(lines.lines.length, before + 50, 'each of root is told');
    for (let at = 0; at < MANY; at += 1)
      for (let times = 0; times < 3; times += 1) refuse(`/more/${String(at)}`, STRANGER);
    assert.equal(refused.views().filter(({ socket }) => socket.startsWith('/mine/')).length, 50);
  });
});

describe('a change of state', () => {
  it('says of an instance that was never let in that it is a newcomer', () => {
    const { recorder, events, instance } = new World();
    const asked = { instance, before: undefined, reasonBefore: undefined, isNoNews: false };
    instance.registeredAt = 0;
    recorder.changed({ ...asked, to: { state: 'connecting', reason: 'registering', message: 'is being dialled' } });
    instance.registeredAt = 1;
    recorder.changed({ ...asked, to: { state: 'ready', reason: 'registered', message: 'registered' } });
    assert.deepEqual(
      events.all.map(({ facts }) => facts),
      [{ state: 'connecting', newcomer: 1 }, { state: 'ready' }],
    );
  });
});

describe('lists, and connections to plugins that are cut off', () => {
  it('name the uid of the plugin, in whose share they count', () => {
    const { recorder, lines, events, log, clock, users } = new World();
    recorder.listRefused('i', 'LIST_TOO_LARGE', 'the list is too large');
    const list = { instanceId: 'i', resource: 'r', raw: Buffer.alloc(0), sha256: '', devices: 1, healthy: 1 };
    recorder.listApplied(list, undefined, ['twice']);
    const guarding = guardPlugins({
      ...users,
      clock,
      log,
      events,
      guard: () => {
        throw new Error('not asked');
      },
      reads: () => undefined,
      count: () => undefined,
    });
    guarding.onEnd?.({ code: 'FRAME_FLOOD', message: 'too many frames' }, '/evil/x.sock', STRANGER);
    assert.deepEqual(
      lines.lines.map(({ event, fields }) => `${event} ${String(fields?.['uid'])}`),
      [`inventory.list-refused ${String(STRANGER)}`, `connection.ended ${String(STRANGER)}`],
    );
    assert.deepEqual(
      events.all.map(({ uid }) => uid),
      [STRANGER, STRANGER, STRANGER, STRANGER],
    );
  });
});
