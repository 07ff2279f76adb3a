import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Admission } from '../../../src/admission/admission.js';
import type { AdmissionPolicy, SocketPort } from '../../../src/admission/ports.js';
import { sleep } from '../../../src/kernel/clock.js';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import type { PluginHandler, RegistrationRequest } from '../../../src/model/plugin.js';
import type { RefusalCode } from '../../../src/model/reasons.js';
import type { PluginPolicy } from '../../../src/model/settings.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeSockets } from '../../support/fake-sockets.js';
import { FakeHandler } from '../../support/reconcile-world.js';
import { loadDefaults } from '../../support/test-settings.js';
import type { FloodVerdict, RegistrationLimits, FloodSubject } from '../../../src/model/flood.js';
import type { AdmissionVerdict as Verdict, NameClaims, NameOwner } from '../../../src/model/registration.js';

const SELF_PID = 4711;
/** Another incarnation of the plugin, of root. */
const OLD = { id: 'i', socketKey: 'other', endpointPath: '/r/old', uid: 0 };

/** Admission over fakes; a test changes what it is about. */
class AdmissionBed {
  readonly clock = new FakeClock();
  readonly sockets = new FakeSockets();
  readonly asked: FloodSubject[] = [];
  handler: PluginHandler | undefined = new FakeHandler();
  flood: RegistrationLimits = {
    quarantined: () => undefined,
    registration: (subject) => {
      this.asked.push(subject);
      return { kind: 'pass' };
    },
  };
  ownerOf: NameOwner | undefined;
  roster: NameClaims = {
    incumbent: () => undefined,
    owner: () => this.ownerOf,
    claimant: () => undefined,
    isDeregistered: () => false,
    livePlugins: 0,
    livePluginsOf: () => ({ own: 0, strangers: 0 }),
    isKnown: () => false,
  };
  policy: PluginPolicy = loadDefaults('/r').policyFor(DEVICE_PLUGIN, 'example.com/x', '');
  settings = loadDefaults('/r').settings;
  nameAllowed: AdmissionPolicy['nameAllowed'] = () => true;
  listenerOf: SocketPort['listenerOf'] = (socket) => {
    const listener = this.sockets.at(socket.path)?.listener;
    return listener === undefined ? { error: 'ECONNREFUSED' } : { gid: undefined, ...listener };
  };
  readonly halt = new AbortController();

  admit(over: Partial<RegistrationRequest> = {}): Promise<Verdict> {
    const { clock, sockets, flood, roster, policy, settings, nameAllowed } = this;
    const admission = new Admission({
      flood,
      roster,
      clock,
      sockets: {
        pin: (path) => sockets.open(path) ?? { problem: 'missing', detail: 'ENOENT' },
        listenerOf: this.listenerOf,
        realDirectory: (path) => path,
      },
      policy: { admission: settings.admission, settings, nameAllowed, policyFor: () => policy },
      self: { uid: 0, pid: SELF_PID },
    });
    const request: RegistrationRequest = {
      door: 'register',
      pulled: false,
      type: DEVICE_PLUGIN,
      name: 'example.com/x',
      versions: ['v1beta1'],
      endpoint: 'x.sock',
      caller: { uid: 0, gid: 0, pid: 1, startTime: '1', source: 'peercred' },
      ...over,
    };
    return admission.admit(request, this.handler, this.halt.signal);
  }

  /** The code of the refusal, or `admitted`. Time passes as it is needed. */
  async verdict(over: Partial<RegistrationRequest> = {}): Promise<RefusalCode | 'admitted'> {
    const pending = this.admit(over);
    await this.clock.advance(2000);
    const verdict = await pending;
    if (!verdict.admitted) return verdict.refusal.code;
    verdict.socket.release();
    verdict.endpoint.release();
    return 'admitted';
  }
}

/** Everything that can be wrong with one request, in the order in which it is asked. */
const FAULTS: [code: RefusalCode, breakIt: (bed: AdmissionBed) => void][] = [
  [
    'QUARANTINED',
    (bed) => (bed.flood = { ...bed.flood, quarantined: () => ({ code: 'QUARANTINED', message: 'out' }) }),
  ],
  ['NAME_DENIED', (bed) => (bed.nameAllowed = () => false)],
  [
    'FLOOD_REGISTER',
    (bed) =>
      (bed.flood = {
        ...bed.flood,
        registration: () => ({ kind: 'refuse', refusal: { code: 'FLOOD_REGISTER', message: 'slow down' } }),
      }),
  ],
  [
    'VERSION_UNSUPPORTED',
    (bed) => {
      const handler = new FakeHandler();
      handler.validate = () => ({ code: 'VERSION_UNSUPPORTED', message: 'v0' });
      bed.handler = handler;
    },
  ],
  ['ENDPOINT_MISSING', (bed) => bed.sockets.remove('/r/device-plugins/x.sock')],
  ['DEREGISTERED', (bed) => (bed.roster = { ...bed.roster, isDeregistered: () => true })],
  ['ENDPOINT_CLAIMED', (bed) => (bed.roster = { ...bed.roster, claimant: () => 'example.com/other' })],
  ['CALLER_NOT_ALLOWED', (bed) => (bed.policy = { ...bed.policy, uids: [5] })],
  [
    'DUPLICATE_REJECTED',
    (bed) => {
      bed.policy = { ...bed.policy, duplicates: 'reject' };
      bed.roster = { ...bed.roster, incumbent: () => OLD };
    },
  ],
  ['CAP_PLUGINS', (bed) => (bed.roster = { ...bed.roster, livePlugins: 1_000_000 })],
];

describe('the order of admission', () => {
  // A call that the flood policy refuses is counted before the name is judged, but a name that is denied is told first: both
  // are refusals of the same call, and a plugin that floods with a denied name is to be slowed down, too.
  const order: readonly RefusalCode[] = FAULTS.map(([code]) => code).filter((code) => code !== 'NAME_DENIED');
  for (const [from, first] of order.entries()) {
    it(`${first} is told before ${[...order.slice(from + 1), 'nothing else'].join(', ')}`, async () => {
      const bed = new AdmissionBed();
      bed.sockets.put('/r/device-plugins/x.sock');
      for (const [code, breakIt] of FAULTS) if (order.indexOf(code) >= from) breakIt(bed);
      assert.equal(await bed.verdict(), first);
      assert.equal(bed.sockets.openPins, 0, 'a refusal holds nothing');
    });
  }

  for (const [code, breakIt] of FAULTS) {
    it(`${code} alone refuses, and holds nothing`, async () => {
      const bed = new AdmissionBed();
      bed.sockets.put('/r/device-plugins/x.sock');
      breakIt(bed);
      assert.equal(await bed.verdict(), code);
      assert.equal(bed.sockets.openPins, 0);
    });
  }

  it('lets in what nothing speaks against, with both sockets held', async () => {
    const bed = new AdmissionBed();
    const socket = bed.sockets.put('/r/device-plugins/x.sock');
    const verdict = await bed.admit();
    assert.ok(verdict.admitted);
    assert.equal(verdict.endpoint.incarnation.ino, socket.incarnation.ino);
    assert.equal(verdict.recheck(), undefined);
    verdict.socket.release();
    verdict.endpoint.release();
    assert.equal(bed.sockets.openPins, 0);
  });
});

describe('the name at admission', () => {
  const invalid = (): FakeHandler => {
    const handler = new FakeHandler();
    handler.validate = () => ({ code: 'NAME_INVALID', message: 'bad name' });
    return handler;
  };

  it('that is no name is counted in the bucket of bad names, and nothing is dialled for it', async () => {
    const bed = new AdmissionBed();
    bed.handler = invalid();
    assert.equal(await bed.verdict({ name: '__proto__' }), 'NAME_INVALID');
    assert.deepEqual(
      bed.asked.map(({ badName }) => badName),
      [true],
    );
  });

  it('of a type that nobody serves is counted as a bad one', async () => {
    const bed = new AdmissionBed();
    bed.handler = undefined;
    assert.equal(await bed.verdict({ type: 'Alien'.repeat(100) }), 'TYPE_UNKNOWN');
    assert.equal(bed.asked[0]?.badName, true);
  });

  it('that is too long is cut before it is told', async () => {
    const bed = new AdmissionBed();
    const verdict = await bed.admit({ name: 'n'.repeat(100_000) });
    assert.equal(!verdict.admitted && verdict.refusal.code, 'NAME_INVALID');
    assert.ok(!verdict.admitted && verdict.refusal.message.length < 300);
  });

  it('with more API versions than are read is refused, because the checkpoint would keep them', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    const versions = (count: number): string[] => Array.from({ length: count }, () => 'v1beta1');
    assert.equal(await bed.verdict({ versions: versions(129) }), 'VERSION_UNSUPPORTED');
    assert.equal(await bed.verdict({ versions: ['v1beta1', '\u0001'.repeat(200)] }), 'VERSION_UNSUPPORTED');
    assert.equal(bed.asked[0]?.endpoint ?? bed.asked[0]?.versions, undefined, 'nothing of it is kept');
    assert.notEqual(await bed.verdict({ versions: versions(128) }), 'VERSION_UNSUPPORTED');
  });

  it('that is bad stays a bad one, however long the versions are that come with it', async () => {
    const bed = new AdmissionBed();
    bed.handler = invalid();
    await bed.verdict({ name: '\u0001'.repeat(500), versions: ['x'.repeat(2000)] });
    assert.equal(bed.asked[0]?.badName, true);
  });

  it('that is bad and floods is refused for the flood', async () => {
    const bed = new AdmissionBed();
    bed.handler = invalid();
    bed.flood = {
      quarantined: () => undefined,
      registration: () => ({ kind: 'refuse', refusal: { code: 'FLOOD_REGISTER', message: 'slow' } }),
    };
    assert.equal(await bed.verdict(), 'FLOOD_REGISTER');
  });
});

describe('the socket that rules of the flood policy are matched with', () => {
  for (const [what, over, socket] of [
    ['is the path a relative endpoint means', { endpoint: 'x.sock' }, '/r/device-plugins/x.sock'],
    ['is an absolute endpoint', { endpoint: '/r/device-plugins/./x.sock' }, '/r/device-plugins/x.sock'],
  ] as const) {
    it(`${what}; the path that was sent is pulled later`, async () => {
      const bed = new AdmissionBed();
      bed.sockets.put('/r/device-plugins/x.sock');
      await bed.verdict(over);
      assert.deepEqual(
        bed.asked.map((subject) => [subject.socket, subject.endpoint]),
        [[socket, over.endpoint]],
      );
    });
  }

  it('is none where the sent text means no path, and nothing of it is kept', async () => {
    const bed = new AdmissionBed();
    await bed.verdict({ endpoint: '\u0001'.repeat(4096) });
    assert.deepEqual([bed.asked[0]?.socket, bed.asked[0]?.endpoint], ['', undefined]);
  });

  it('is the registration socket at the watcher door, with any endpoint', async () => {
    const bed = new AdmissionBed();
    const path = '/r/plugins_registry/x.sock';
    bed.sockets.put(path);
    const socket = bed.sockets.open(path);
    assert.ok(socket);
    await bed.verdict({ door: 'watcher', socket, endpoint: '/r/plugins/x/csi.sock' });
    assert.equal(bed.asked[0]?.socket, path);
    socket.release();
  });
});

describe('a registration that has to wait for its turn', () => {
  it('is let in when its turn comes, unless there is none or its plugin came into quarantine meanwhile', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    const delayed = (then: FloodVerdict): FloodVerdict => ({
      kind: 'delay',
      delayMs: 500,
      wait: () => Promise.resolve(then),
    });
    bed.flood = { ...bed.flood, registration: () => delayed(delayed({ kind: 'pass' })) };
    assert.equal(await bed.verdict(), 'admitted');
    const refusal = { code: 'FLOOD_REGISTER', message: 'its turn would come too late' } as const;
    bed.flood = { ...bed.flood, registration: () => delayed({ kind: 'refuse', refusal }) };
    assert.equal(await bed.verdict(), 'FLOOD_REGISTER');
    let calls = 0;
    const quarantined: RegistrationLimits['quarantined'] = () =>
      calls++ === 0 ? undefined : { code: 'QUARANTINED', message: 'others called meanwhile' };
    bed.flood = { ...bed.flood, quarantined };
    assert.equal(await bed.verdict(), 'QUARANTINED');
  });

  it('gives up with its waiter', async () => {
    const bed = new AdmissionBed();
    const wait = (signal: AbortSignal): Promise<never> => sleep(bed.clock, 500, signal).then(() => assert.fail());
    bed.flood = { ...bed.flood, registration: () => ({ kind: 'delay', delayMs: 500, wait }) };
    const pending = bed.admit();
    bed.halt.abort(new Error('the budget is over'));
    await assert.rejects(pending, /the budget is over/);
    assert.equal(bed.clock.pending, 0);
  });
});

describe('a plugin that registers a moment before it serves', () => {
  for (const [what, early] of [
    ['has no socket yet', undefined],
    ['has bound and does not listen yet', { listens: false }],
  ] as const) {
    it(`${what}: is given a second`, async () => {
      const bed = new AdmissionBed();
      if (early !== undefined) bed.sockets.put('/r/device-plugins/x.sock', early);
      const pending = bed.admit();
      await bed.clock.advance(400);
      bed.sockets.put('/r/device-plugins/x.sock');
      await bed.clock.advance(100);
      assert.equal((await pending).admitted, true);
    });
  }

  it('is refused after that second with what is still missing', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock', { listens: false });
    assert.equal(await bed.verdict(), 'NO_LISTENER');
    const looks: number[] = [];
    bed.listenerOf = () => (looks.push(bed.clock.mono()), { error: 'EAGAIN' });
    assert.equal(await bed.verdict(), 'NO_ANSWER');
    assert.ok((looks[5] ?? 0) - (looks[0] ?? 0) === 100 && looks.length < 20, `seldom after a moment: ${looks.join()}`);
    bed.listenerOf = () => ({ error: 'EACCES' });
    assert.deepEqual([await bed.verdict(), bed.sockets.openPins, bed.clock.pending], ['NOT_PERMITTED', 0, 0]);
  });

  it('is not waited for when nobody called', async () => {
    const bed = new AdmissionBed();
    const verdict = await bed.admit({ pulled: true });
    assert.equal(!verdict.admitted && verdict.refusal.code, 'ENDPOINT_MISSING');
  });
});

describe('the socket at admission', () => {
  it('of the broker itself is refused', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock').listener = { uid: 0, pid: SELF_PID };
    assert.equal(await bed.verdict(), 'ENDPOINT_INVALID');
  });

  it('of another incarnation than the one that is meant is refused', async () => {
    const bed = new AdmissionBed();
    const { key } = bed.sockets.put('/r/device-plugins/x.sock');
    assert.equal(await bed.verdict({ pulled: true, expected: key }), 'admitted');
    bed.sockets.put('/r/device-plugins/x.sock');
    assert.equal(await bed.verdict({ pulled: true, expected: key }), 'SOCKET_SWAPPED');
  });

  it('is judged by its registration socket where it has one, and not by the service socket that it names', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    const { key } = bed.sockets.put('/r/plugins_registry/x.sock');
    const socket = bed.sockets.open('/r/plugins_registry/x.sock');
    assert.ok(socket !== undefined);
    const request = { pulled: true, socket, expected: key };
    assert.equal(await bed.verdict(request), 'admitted');
    bed.roster = { ...bed.roster, isDeregistered: (one) => one === key };
    assert.equal(await bed.verdict(request), 'DEREGISTERED');
  });
});

describe('duplicates', () => {
  function bedWith(duplicates: PluginPolicy['duplicates'], alive: boolean): AdmissionBed {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    bed.policy = { ...bed.policy, duplicates };
    bed.roster = { ...bed.roster, incumbent: () => OLD };
    const handler = new FakeHandler();
    handler.isAlive = () => Promise.resolve(alive);
    bed.handler = handler;
    return bed;
  }

  for (const [duplicates, alive, verdict] of [
    ['newest', true, 'admitted'],
    ['keep-alive', true, 'DUPLICATE_KEPT'],
    ['keep-alive', false, 'admitted'],
    ['reject', true, 'DUPLICATE_REJECTED'],
    ['reject', false, 'DUPLICATE_REJECTED'],
  ] as const) {
    it(`${duplicates}, the incumbent ${alive ? 'answers' : 'does not answer'}: ${verdict}`, async () => {
      assert.equal(await bedWith(duplicates, alive).verdict(), verdict);
    });
  }

  it('are nobody of the same incarnation, and nobody where endpoints coexist', async () => {
    const bed = bedWith('reject', true);
    const { key } = bed.sockets.at('/r/device-plugins/x.sock') ?? {};
    bed.roster = { ...bed.roster, incumbent: () => ({ ...OLD, socketKey: key ?? '' }) };
    assert.equal(await bed.verdict(), 'admitted');
    const coexisting = bedWith('reject', true);
    coexisting.handler = new FakeHandler(DEVICE_PLUGIN, true);
    assert.equal(await coexisting.verdict(), 'admitted');
  });

  it('a caller that gave up while the incumbent was asked lets nothing in and holds nothing', async () => {
    const bed = bedWith('keep-alive', false);
    const { handler, halt } = bed;
    assert.ok(handler);
    handler.isAlive = () => {
      halt.abort(new Error('the socket was removed'));
      return Promise.resolve(false);
    };
    await assert.rejects(bed.admit(), /the socket was removed/);
    assert.equal(bed.sockets.openPins, 0);
  });

  it('two newcomers at the same instant: the one that is entered second is refused by reject', async () => {
    const bed = bedWith('reject', true);
    const incumbents: NonNullable<ReturnType<NameClaims['incumbent']>>[] = [];
    bed.roster = { ...bed.roster, incumbent: () => incumbents[0] };
    const verdict = await bed.admit();
    assert.ok(verdict.admitted);
    incumbents.push(OLD);
    assert.equal(verdict.recheck()?.code, 'DUPLICATE_REJECTED');
  });
});

describe('caps', () => {
  it('are for unknown plugins: an admitted one may come again', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    bed.roster = { ...bed.roster, livePlugins: bed.settings.admission.maxPlugins, isKnown: () => true };
    assert.equal(await bed.verdict(), 'admitted');
  });

  it('leave room for others: one user that is neither root nor the broker has a quarter, and such users together three', async () => {
    const bed = new AdmissionBed();
    const socket = bed.sockets.put('/r/device-plugins/x.sock');
    const caller = { uid: 4001, gid: 4001, pid: 5, startTime: '1', source: 'peercred' } as const;
    socket.listener = { uid: 4001, pid: 5 };
    const share = Math.floor(bed.settings.admission.maxPlugins / 4);
    for (const [own, strangers, verdict] of [
      [share - 1, 3 * share - 1, 'admitted'],
      [share, share, 'CAP_PLUGINS'],
      [0, 3 * share, 'CAP_PLUGINS'],
    ] as const) {
      bed.roster = { ...bed.roster, livePluginsOf: () => ({ own, strangers }) };
      assert.equal(await bed.verdict({ caller }), verdict, `${String(own)} of ${String(strangers)}`);
    }
    socket.listener = { uid: 0, pid: 5 };
    assert.equal(await bed.verdict(), 'admitted', 'root');
  });

  it('are asked again when the registration is entered: many at the same instant do not exceed them', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    let livePlugins = bed.settings.admission.maxPlugins - 1;
    bed.roster = {
      ...bed.roster,
      get livePlugins() {
        return livePlugins;
      },
    };
    const verdict = await bed.admit();
    livePlugins += 1;
    assert.equal(verdict.admitted && verdict.recheck()?.code, 'CAP_PLUGINS');
  });

  void it('says BUSY with a time, and nothing of the endpoint, when our own descriptors have run out', async () => {
    for (const error of ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']) {
      const bed = new AdmissionBed();
      bed.sockets.put('/r/device-plugins/x.sock');
      bed.listenerOf = () => ({ error });
      const verdict = await bed.admit();
      assert.ok(!verdict.admitted);
      assert.equal(verdict.refusal.code, 'BUSY');
      assert.ok((verdict.refusal.retryAfterMs ?? 0) > 0);
    }
  });

  void it('refuses a plugin that came into quarantine while it was asked', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock');
    let isBanned = false;
    bed.flood = {
      ...bed.flood,
      quarantined: () => (isBanned ? { code: 'QUARANTINED', message: 'out' } : undefined),
    };
    const verdict = await bed.admit();
    assert.ok(verdict.admitted);
    assert.equal(verdict.recheck(), undefined);
    isBanned = true;
    assert.equal(verdict.recheck()?.code, 'QUARANTINED');
  });

  void it('counts a call for the uid that calls', async () => {
    const bed = new AdmissionBed();
    bed.sockets.put('/r/device-plugins/x.sock', { uid: 4001 });
    await bed.verdict({ caller: { uid: 4001, gid: 4001, pid: 7, startTime: '1', source: 'peercred' } });
    assert.deepEqual(
      bed.asked.map(({ uid }) => uid),
      [4001],
    );
  });

  void it('refuses a name that another uid got while the newcomer was asked', async () => {
    const bed = new AdmissionBed();
    const caller = { uid: 5, gid: 5, pid: 7, startTime: '1', source: 'peercred' } as const;
    bed.sockets.put('/r/device-plugins/x.sock', { uid: 5 });
    const verdict = await bed.admit({ caller });
    assert.ok(verdict.admitted);
    assert.equal(verdict.recheck(), undefined);
    bed.ownerOf = { uid: 4, endpointPath: '/other.sock', isHeld: false };
    assert.equal(verdict.recheck()?.code, 'NAME_OWNED');
    assert.equal(await bed.verdict({ caller }), 'NAME_OWNED');
  });
});
