import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Front } from '../../../src/front/front.js';
import type { FrontedService, ResourceNow } from '../../../src/front/ports.js';
import { ListAndWatchResponse } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { frontWire } from '../../../src/platform/wire/front-wire.js';
import { FakeClock } from '../../support/fake-clock.js';
import { NO_OWNERS, READY, WIRE } from '../../support/front-ports.js';

/** A front with the sockets of two resources, before a kubelet that opens a stream for each Register and ends it when we do. */
function world({
  maxResources = 2,
  user = undefined as number | undefined,
  userOf = (_name: string): number | undefined => user,
  wire = WIRE,
} = {}) {
  const known = new Map<string, ResourceNow>();
  const open = new Set<string>();
  const services = new Map<string, FrontedService>();
  const hanging = new Set<string>();
  /** Devices that pods have, by resource. */
  const held = new Map<string, readonly string[]>();
  const registered: string[] = [];
  /** Whose files were removed. */
  const forgotten: string[] = [];
  let incarnation = 'k1';
  const front = new Front({
    clock: new FakeClock(),
    random: { next: () => 1 },
    speculate: 'off',
    speculateForMs: 0,
    maxResources: () => maxResources,
    resources: {
      names: () => [...known.keys()],
      now: (name) => known.get(name),
      call: (_id, _call, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
      isAlive: () => Promise.resolve(true),
    },
    owners: { ...NO_OWNERS, idsOf: (name) => held.get(name) ?? [], isFree: (name) => !held.has(name) },
    wire,
    userOf,
    kubelet: {
      incarnation: () => incarnation,
      register: (resource) => {
        registered.push(resource);
        const ended = services.get(resource)?.watch({
          send: () => undefined,
          end: () => {
            if (!hanging.has(resource)) queueMicrotask(() => ended?.());
          },
        });
        return Promise.resolve();
      },
    },
    openSockets: (name, service) => {
      services.set(name, service);
      open.add(name);
      return {
        endpoint: `${name}.sock`,
        ensure: () => Promise.resolve(),
        enter: () => undefined,
        close: (isForgotten) => {
          open.delete(name);
          if (isForgotten) forgotten.push(name);
        },
      };
    },
    limits: { holdMs: 2000, allocateMs: 1000, preferredMs: 1000, preStartMs: 1000 },
    usesRegistry: true,
    changed: () => undefined,
    called: () => undefined,
    gateWaited: () => undefined,
  });
  front.open();
  const turn = async (change: () => void): Promise<void> => {
    change();
    for (const name of ['a', 'b', 'c']) front.refresh(name);
    // Long lists of one user are read one after the other, some 1,000 devices a turn.
    for (let nth = 0; nth < 60; nth++) await new Promise((resolve) => setImmediate(resolve));
  };
  const restartKubelet = (): void => {
    incarnation = 'k2';
    front.kubeletChanged();
  };
  return { front, known, open, services, hanging, held, registered, forgotten, restartKubelet, turn };
}

void describe('resources before the kubelet', () => {
  void it('make room for others when nothing is known of them any more, and come back', async () => {
    const { front, known, open, turn } = world();
    await turn(() => known.set('a', READY).set('b', READY).set('c', READY));
    assert.deepEqual([...open], ['a', 'b']);
    await turn(() => known.delete('a'));
    await turn(() => undefined);
    assert.deepEqual([...open], ['b', 'c']);
    assert.equal(front.view('c')?.state, 'fronted');
    assert.deepEqual(
      ['c', 'unknown'].map((name) => front.isFronted(name)),
      [true, false],
    );
    await turn(() => known.delete('b'));
    await turn(() => known.set('a', READY));
    assert.deepEqual([...open], ['c', 'a']);
    assert.equal(front.view('a')?.state, 'fronted');
    await front.close(0);
    assert.deepEqual([...open], []);
  });

  void it('are all served at the end until the last call of any of them is over', async () => {
    const { front, known, open, services, turn } = world();
    await turn(() => known.set('a', READY).set('b', READY));
    const given = new AbortController();
    const answered = services.get('a')?.call('Allocate', Buffer.from('q'), given);
    await turn(() => undefined);
    const closed = front.close(3000);
    await turn(() => undefined);
    assert.deepEqual([...open], ['a', 'b'], 'a kubelet whose stream of b ended would take its devices for gone');
    given.abort();
    await closed;
    assert.deepEqual([...open], []);
    assert.ok(await answered);
  });

  void it('leave no files once they are over, unless pods have devices of them', async () => {
    const { front, known, held, forgotten, turn } = world();
    held.set('a', ['d']);
    await turn(() => known.set('a', READY).set('b', READY));
    await turn(() => known.delete('a'));
    await turn(() => known.set('c', READY));
    assert.deepEqual(
      [forgotten, front.view('c')?.state],
      [[], 'fronted'],
      'the next life is to know that pods have some',
    );
    await turn(() => known.delete('b'));
    await turn(() => known.set('a', READY));
    assert.deepEqual(forgotten, ['b']);
    await turn(() => known.delete('c'));
    await front.close(0);
    assert.deepEqual(forgotten, ['b', 'c'], 'and a successor binds over those that are not over');
  });

  void it('stay while the kubelet follows their list', async () => {
    const { front, known, open, hanging, turn } = world();
    hanging.add('a');
    await turn(() => known.set('a', READY).set('b', READY).set('c', READY));
    await turn(() => known.delete('a'));
    await turn(() => undefined);
    assert.deepEqual([...open], ['a', 'b']);
    await front.close(0);
  });

  void it('are registered with a new kubelet in the order of how many devices pods have', async () => {
    const { front, known, held, registered, restartKubelet, turn } = world();
    await turn(() => known.set('a', READY).set('b', READY));
    assert.deepEqual(registered.splice(0), ['a', 'b']);
    held.set('a', ['d']).set('b', ['d', 'e']);
    await turn(restartKubelet);
    assert.deepEqual(registered, ['b', 'a']);
    await front.close(0);
  });

  void it('of ordinary users are registered with it after those of root, and users take turns', async () => {
    const users: Partial<Record<string, number>> = { u1: 1, u2: 1, u3: 1, v: 2 };
    const { front, known, held, registered, restartKubelet, turn } = world({
      maxResources: 10,
      userOf: (name) => users[name],
    });
    const names = ['u1', 'u2', 'u3', 'v', 'a', 'b'];
    await turn(() => names.forEach((name) => known.set(name, READY)));
    await turn(() => names.forEach((name) => front.refresh(name)));
    for (const name of ['u1', 'u2', 'u3']) held.set(name, ['d', 'e', 'f', name]);
    held.set('v', ['d']).set('b', ['d']);
    registered.splice(0);
    await turn(restartKubelet);
    assert.deepEqual(registered, ['b', 'a', 'u1', 'v', 'u2', 'u3']);
    await front.close(0);
  });

  void it('stay while the kubelet waits for an answer', async () => {
    const { front, known, open, services, turn } = world();
    await turn(() => known.set('a', READY).set('b', READY).set('c', READY));
    const gone = new AbortController();
    const answer = services.get('a')?.call('Allocate', Buffer.alloc(0), gone);
    await turn(() => undefined);
    await turn(() => known.delete('a'));
    await turn(() => undefined);
    assert.deepEqual([...open], ['a', 'b']);
    gone.abort();
    await answer;
    await turn(() => undefined);
    assert.deepEqual([...open], ['b', 'c']);
    await front.close(0);
  });
});

/** A list of an ordinary user's plugin: each device takes 1,880 bytes of its share. */
function listed(count: number, prefix = 'd'): ResourceNow {
  const devices = Array.from({ length: count }, (_, nth) => {
    return { id: `${prefix}${String(nth).padStart(209, '0')}`, health: 'Healthy' };
  });
  return { ...READY, uid: 4001, list: ListAndWatchResponse.encode({ devices }), devices: count, healthy: count };
}

void describe('resources of one ordinary user', () => {
  const shared = { maxResources: 3, user: 4001, wire: frontWire };

  void it('take a quarter of the answer of the kubelet that all owners are known from, and no more', async () => {
    const { front, known, turn } = world(shared);
    await turn(() => known.set('a', listed(1000)).set('b', listed(1000)));
    await turn(() => known.set('c', listed(300)));
    await turn(() => undefined);
    const { state, reason } = front.view('c') ?? {};
    assert.deepEqual([front.view('a')?.state, front.view('b')?.state, state], ['fronted', 'fronted', 'too-large']);
    assert.match(
      reason ?? '',
      /its list may take 564000 bytes of .* its user may have 434304 more: list fewer devices.*; the kubelet is told nothing of it$/,
    );
    await turn(() => known.set('b', listed(900)));
    await turn(() => undefined);
    assert.equal(front.view('c')?.state, 'fronted', 'and the room that one leaves is for the next');
    await front.close(0);
  });

  void it('keep what the kubelet has while pods have it, and count that', async () => {
    const { front, known, held, turn } = world(shared);
    await turn(() => known.set('a', listed(2000)));
    await turn(() => undefined);
    const ids = Array.from({ length: 2000 }, (_, nth) => `d${String(nth).padStart(209, '0')}`);
    await turn(() => held.set('a', ids));
    await turn(() => known.set('a', listed(1000, 'e')));
    await turn(() => undefined);
    assert.deepEqual([front.view('a')?.state, front.view('a')?.told.healthy], ['too-large', 2000]);
    assert.match(front.view('a')?.reason ?? '', /devices that pods have count as well\); the list before it stays$/);
    await turn(() => known.delete('a'));
    await turn(() => known.set('b', listed(1000)));
    await turn(() => undefined);
    assert.equal(front.view('b')?.state, 'too-large', 'the plugin has gone, and its pods have not');
    await turn(() => held.delete('a'));
    await turn(() => undefined);
    assert.equal(front.view('b')?.state, 'fronted');
    await front.close(0);
  });

  void it('leave their room when their pods have ended, also where they are back and the front has no room for them', async () => {
    const { front, known, held, open, turn } = world({ ...shared, maxResources: 1 });
    await turn(() => known.set('a', listed(1000)));
    await turn(() => undefined);
    await turn(() => held.set('a', ['d'.padEnd(210, '0')]));
    await turn(() => known.delete('a'));
    await turn(() => known.set('b', listed(2000)));
    await turn(() => known.set('a', listed(1000)));
    assert.deepEqual([[...open], front.view('b')?.state], [['b'], 'too-large']);
    await turn(() => held.delete('a'));
    await turn(() => undefined);
    assert.equal(front.view('b')?.state, 'fronted');
    await front.close(0);
  });

  void it('of root have no such share', async () => {
    const { front, known, turn } = world({ maxResources: 3, wire: frontWire });
    await turn(() => known.set('a', listed(10_000)).set('b', listed(10_000)));
    await turn(() => undefined);
    assert.deepEqual([front.view('a')?.state, front.view('b')?.state], ['fronted', 'fronted']);
    await front.close(0);
  });
});
