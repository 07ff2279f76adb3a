import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Front } from '../../../src/front/front.js';
import type { FrontedService, ResourceNow } from '../../../src/front/ports.js';
import { FakeClock } from '../../support/fake-clock.js';
import { NO_OWNERS, READY, WIRE } from '../../support/front-ports.js';

/** A front with the sockets of two resources, before a kubelet that opens a stream for each Register and ends it when we do. */
function world() {
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
    maxResources: () => 2,
    resources: {
      names: () => [...known.keys()],
      now: (name) => known.get(name),
      call: (_id, _call, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
      isAlive: () => Promise.resolve(true),
    },
    owners: { ...NO_OWNERS, idsOf: (name) => held.get(name) ?? [], isFree: (name) => !held.has(name) },
    wire: WIRE,
    userOf: () => undefined,
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
    for (let nth = 0; nth < 20; nth++) await new Promise((resolve) => setImmediate(resolve));
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
