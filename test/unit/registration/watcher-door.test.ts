import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FoundSocket, Outcome, PinnedSocket, RegistrationRequest } from '../../../src/model/plugin.js';
import { GRPC_STATUS, REFUSALS, type RefusalCode } from '../../../src/model/reasons.js';
import type { PluginInfo } from '../../../src/registration/ports.js';
import { WatcherDoor } from '../../../src/registration/watcher-door.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeFailure } from '../../support/fake-connection.js';
import { FakeSockets } from '../../support/fake-sockets.js';
import { loadDefaults } from '../../support/test-settings.js';

const INFO: PluginInfo = { type: 'DevicePlugin', name: 'example.com/x', endpoint: '', supportedVersions: ['v1beta1'] };
const OK: Outcome = { ok: true, instanceId: 'i', durable: true };
const REFUSED_CONNECT = new FakeFailure(GRPC_STATUS.UNAVAILABLE, 'connect ECONNREFUSED', 'no-listener');

class Bed {
  isRegistered = true;
  readonly clock = new FakeClock();
  readonly halt = new AbortController();
  readonly socket: PinnedSocket;
  readonly requests: RegistrationRequest[] = [];
  /** The statuses that the plugin was told: '' for registered. */
  readonly told: string[] = [];
  readonly failed: string[] = [];
  readonly pending: boolean[] = [];
  asked = 0;
  /** Talks that were not closed. */
  open = 0;
  isCrowded = false;
  /** Of each turn whether it was in vain. */
  readonly inVain: boolean[] = [];
  /** The owners whose turns were taken, or looked at. */
  readonly turnsOf = new Set<number>();
  info: () => Promise<PluginInfo> = () => Promise.resolve(INFO);
  outcome: () => Outcome = () => OK;
  notify: () => Promise<void> = () => Promise.resolve();
  readonly door: WatcherDoor;

  constructor() {
    const sockets = new FakeSockets();
    sockets.put('/r/plugins_registry/x');
    const pin = sockets.open('/r/plugins_registry/x');
    if (pin === undefined) throw new Error('there is no socket');
    this.socket = pin;
    this.door = new WatcherDoor({
      enrolments: {
        enrol: (request) => {
          this.requests.push(request);
          return Promise.resolve(this.outcome());
        },
      },
      client: {
        open: () => {
          this.open += 1;
          return {
            getInfo: () => {
              this.asked += 1;
              return this.info();
            },
            notify: async (error) => {
              await this.notify();
              this.told.push(error ?? '');
            },
            caller: () => ({ uid: 7, gid: 7, pid: 1, startTime: undefined, source: 'peercred' }),
            close: () => void (this.open -= 1),
          };
        },
      },
      turns: {
        take: (owner) => {
          this.turnsOf.add(owner);
          return Promise.resolve((inVain) => void this.inVain.push(inVain));
        },
        isCrowded: (owner) => {
          this.turnsOf.add(owner);
          return this.isCrowded;
        },
      },
      clock: this.clock,
      timeouts: loadDefaults('/r').settings.timeouts,
      recorder: { refusedAt: (_socket, { code }, uid) => void this.failed.push(`${code} of ${String(uid)}`) },
      notices: {
        isRegistered: () => this.isRegistered,
        notifyPending: (_id, isPending) => void this.pending.push(isPending),
      },
    });
  }

  attempt(): ReturnType<WatcherDoor['attempt']> {
    // Root made the file, in a directory that another user can fill.
    const found: FoundSocket = { socket: this.socket, owner: 4001 };
    return this.door.attempt(found, this.halt.signal);
  }
}

const refusedWith = (code: RefusalCode, retryAfterMs?: number): (() => Outcome) => {
  const after = retryAfterMs === undefined ? {} : { retryAfterMs };
  return () => ({ ok: false, refusal: { code, message: `refused for ${code}`, ...after } });
};

describe('an attempt at the watcher door', () => {
  it('gives its turn back where the socket has gone in the moment in which the turn began', async () => {
    const bed = new Bed();
    const attempt = bed.attempt();
    bed.halt.abort(new Error('not wanted any more'));
    bed.socket.release();
    await assert.rejects(attempt, /not wanted any more/);
    assert.deepEqual([bed.inVain, bed.open, bed.asked], [[true], 0, 0]);
  });

  it('asks a socket for its name, takes the plugin in, and tells it', async () => {
    const bed = new Bed();
    assert.deepEqual(await bed.attempt(), { done: true });
    assert.deepEqual([bed.told, bed.inVain], [[''], [false]]);
    assert.deepEqual(
      bed.requests.map(({ door, pulled, name, caller }) => ({ door, pulled, name, uid: caller?.uid })),
      [{ door: 'watcher', pulled: false, name: 'example.com/x', uid: 7 }],
    );
    assert.equal(bed.clock.pending, 0);
    assert.equal(bed.open, 0);
  });

  for (const code of Object.keys(REFUSALS) as RefusalCode[]) {
    const passes = REFUSALS[code].transient;
    it(`refused with ${code}: ${passes ? 'is not told, because registrars exit on it' : 'is told with what to do'}`, async () => {
      const bed = new Bed();
      bed.outcome = refusedWith(code);
      const attempt = await bed.attempt();
      assert.equal(attempt.done, false);
      assert.equal(bed.open, 0);
      assert.deepEqual(bed.inVain, [true], 'a socket that is refused at once has the pace of a silent one');
      if (passes) assert.deepEqual(bed.told, []);
      else assert.deepEqual(bed.told, [`${code}: refused for ${code}. ${REFUSALS[code].remedy}`]);
    });
  }

  it('refused because its plugin is in quarantine names the quarantine that it waits for', async () => {
    const bed = new Bed();
    bed.outcome = refusedWith('QUARANTINED', 30_000);
    assert.deepEqual(await bed.attempt(), { done: false, atLeastMs: 30_000, keptOut: 'DevicePlugin/example.com/x' });
  });

  it('refused for a time is not tried again before that time', async () => {
    const bed = new Bed();
    bed.outcome = refusedWith('FLOOD_REGISTER', 30_000);
    assert.deepEqual(await bed.attempt(), { done: false, atLeastMs: 30_000 });
  });

  it('right after bind and before listen tries again for a moment', async () => {
    const bed = new Bed();
    bed.info = () => (bed.asked < 5 ? Promise.reject(REFUSED_CONNECT) : Promise.resolve(INFO));
    const attempt = bed.attempt();
    await bed.clock.advance(30);
    assert.deepEqual(await attempt, { done: true });
    assert.deepEqual(bed.failed, []);
  });

  it('that nobody listens on is tried once where others of its owner wait', async () => {
    const bed = new Bed();
    bed.isCrowded = true;
    bed.info = () => Promise.reject(REFUSED_CONNECT);
    assert.deepEqual(await bed.attempt(), { done: false });
    assert.deepEqual([bed.asked, bed.failed, bed.open], [1, ['NO_LISTENER of 4001'], 0]);
    assert.deepEqual([...bed.turnsOf], [4001]);
  });

  for (const [status, message, fault, code] of [
    [GRPC_STATUS.UNAVAILABLE, 'connect ECONNREFUSED', 'no-listener', 'NO_LISTENER'],
    [GRPC_STATUS.DEADLINE_EXCEEDED, 'no answer within 5000 ms', 'no-answer', 'NO_ANSWER'],
    [GRPC_STATUS.UNAVAILABLE, 'Protocol error', 'not-grpc', 'NOT_GRPC'],
    [GRPC_STATUS.UNIMPLEMENTED, 'unknown service', undefined, 'NOT_SERVED'],
    [GRPC_STATUS.INTERNAL, 'oops', undefined, 'INFO_FAILED'],
  ] as const) {
    it(`GetInfo fails with ${message}: ${code}, told to the operator, not to the plugin`, async () => {
      const bed = new Bed();
      bed.info = () => Promise.reject(new FakeFailure(status, message, fault));
      const attempt = bed.attempt();
      await bed.clock.advance(1000);
      assert.deepEqual(await attempt, { done: false });
      assert.deepEqual([bed.failed, bed.told, bed.requests], [[`${code} of 4001`], [], []]);
    });
  }

  it('that answers in the words of a socket without listener is asked once: its words decide nothing', async () => {
    const bed = new Bed();
    const words = 'ENOENT: no such file or directory, open /dev/nvidiactl; ECONNREFUSED';
    bed.info = () => Promise.reject(new FakeFailure(GRPC_STATUS.UNKNOWN, words));
    const attempt = bed.attempt();
    await bed.clock.advance(1000);
    assert.deepEqual(await attempt, { done: false });
    assert.deepEqual([bed.asked, bed.failed], [1, ['INFO_FAILED of 4001']]);
  });

  it('of a plugin that was lost before it could be told begins anew', async () => {
    const bed = new Bed();
    bed.notify = () => Promise.reject(new FakeFailure(14, 'busy'));
    const attempt = bed.attempt();
    await bed.clock.advance(100);
    bed.isRegistered = false;
    await bed.clock.advance(1000);
    assert.deepEqual(await attempt, { done: false });
  });

  it('of a plugin that cannot be told goes on telling, and says so meanwhile', async () => {
    const bed = new Bed();
    let failures = 6;
    bed.notify = () => (failures-- > 0 ? Promise.reject(new FakeFailure(14, 'busy')) : Promise.resolve());
    const attempt = bed.attempt();
    await bed.clock.advance(250 + 1000 + 5000 + 15_000 * 3);
    assert.deepEqual(await attempt, { done: true });
    assert.deepEqual(bed.told, ['']);
    assert.deepEqual(bed.pending, [true, true, true, true, true, true, false]);
    assert.equal(bed.asked, 1, 'a registered socket is not registered again');
  });

  it('that could not tell a refusal is over all the same', async () => {
    const bed = new Bed();
    bed.outcome = refusedWith('NAME_INVALID');
    bed.notify = () => Promise.reject(new FakeFailure(14, 'busy'));
    assert.deepEqual(await bed.attempt(), { done: false });
  });

  for (const [when, hang] of [
    ['asking', (bed: Bed): unknown => (bed.info = () => Promise.reject(REFUSED_CONNECT))],
    ['telling', (bed: Bed): unknown => (bed.notify = () => Promise.reject(new FakeFailure(14, 'busy')))],
  ] as const) {
    it(`ends with its socket while it is ${when}, and leaves no clock`, async () => {
      const bed = new Bed();
      hang(bed);
      const attempt = bed.attempt();
      await bed.clock.settle();
      bed.halt.abort(new Error('the socket was removed'));
      await assert.rejects(attempt, /the socket was removed/);
      assert.equal(bed.clock.pending, 0);
      assert.equal(bed.open, 0);
    });
  }

  it('whose socket went while it was judged tells nobody', async () => {
    const bed = new Bed();
    bed.outcome = () => {
      bed.halt.abort(new Error('the socket was removed'));
      return OK;
    };
    await assert.rejects(bed.attempt(), /the socket was removed/);
    assert.deepEqual(bed.told, []);
    assert.equal(bed.open, 0);
  });
});
