import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaseAnswers, MAX_ANSWER_BYTES } from '../../../src/podresources/lease-answers.js';
import { UpstreamAnswers } from '../../../src/podresources/upstream.js';
import { podEncoder } from '../../../src/platform/wire/pod-encoder.js';
import {
  GetPodResourcesResponse,
  AllocatableResourcesResponse,
  ListPodResourcesResponse,
} from '../../../src/generated/proto/podresources/v1/podresources.js';
import { ListPodResourcesResponse as AlphaResponse } from '../../../src/generated/proto/podresources/v1alpha1/podresources.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeLeases, lease } from '../../support/leases.js';

const pod = (name: string, ids: readonly string[] = ['d0']): Buffer =>
  podEncoder.listed('v1', {
    namespace: 'default',
    name,
    containers: [{ name: 'c', devices: ids.map((id) => ({ resource: 'v/nic', id, numaNodes: [] })) }],
  });

function bed() {
  const clock = new FakeClock();
  const leases = new FakeLeases();
  const told: (string | undefined)[] = [];
  const state = {
    pods: [pod('p')] as Buffer[],
    failure: undefined as Error | undefined,
    isAllocating: false,
    asked: 0,
    gets: 0,
    left: 0,
  };
  const own = new LeaseAnswers({
    leases,
    usable: () => [],
    encoder: podEncoder,
    incomplete: () => undefined,
  });
  const answers = new UpstreamAnswers(own, {
    kubelet: {
      list: () => {
        state.asked++;
        return state.failure === undefined ? Promise.resolve([...state.pods]) : Promise.reject(state.failure);
      },
      allocatable: () => Promise.resolve(podEncoder.allocatable({ resource: 'v/nic', id: 'd0', numaNodes: [] })),
      get: (_, name) => {
        state.gets++;
        if (state.failure !== undefined) return Promise.reject(state.failure);
        return Promise.resolve(name === 'p' ? Buffer.from('pod') : undefined);
      },
    },
    clock,
    owners: state,
    unanswered: (why) => told.push(why),
    incomplete: (left) => (state.left = left),
  });
  const names = async (): Promise<string[]> =>
    ListPodResourcesResponse.decode(await answers.list('v1')).podResources.map(({ name }) => name);
  return { clock, leases, told, state, answers, names };
}

describe('PodResources of a kubelet together with ours', () => {
  it('have the pods first and owners of leases behind them, in both versions, and devices of both', async () => {
    const { leases, answers, names } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    assert.deepEqual(await names(), ['p', 'u']);
    const alpha = AlphaResponse.decode(await answers.list('v1alpha1')).podResources;
    assert.deepEqual(
      alpha.map(({ name, containers }) => [name, containers[0]?.devices[0]?.deviceIds]),
      [
        ['p', ['d0']],
        ['u', ['g0']],
      ],
    );
    const { devices } = AllocatableResourcesResponse.decode(await answers.allocatable());
    assert.deepEqual(
      devices.map(({ deviceIds }) => deviceIds),
      [['d0']],
    );
  });

  it('ask the kubelet once a second whoever asks, and never while it allocates; leases are new each time', async () => {
    const { clock, leases, state, names } = bed();
    await Promise.all(Array.from({ length: 20 }, names));
    assert.equal(state.asked, 1);
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    assert.deepEqual(await names(), ['p', 'u']);
    assert.equal(state.asked, 1);
    await clock.advance(1000);
    state.isAllocating = true;
    await names();
    assert.equal(state.asked, 1, 'an Allocate is under way');
    state.isAllocating = false;
    state.pods = [pod('q')];
    assert.deepEqual(await names(), ['q', 'u']);
    assert.equal(state.asked, 2);
  });

  it('keep what the kubelet said last while it does not answer, and say so', async () => {
    const { clock, leases, state, told, names } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    state.failure = new Error('there is no kubelet.sock');
    assert.deepEqual(await names(), ['u'], 'it was never heard');
    assert.match(told.at(-1) ?? '', /does not answer List of PodResources: there is no kubelet.sock/);
    state.failure = undefined;
    await clock.advance(1000);
    assert.deepEqual(await names(), ['p', 'u']);
    assert.equal(told.at(-1), undefined);
    state.failure = new Error('gone');
    await clock.advance(1000);
    assert.deepEqual(await names(), ['p', 'u']);
    assert.match(told.at(-1) ?? '', /gone/);
  });

  it('are never longer than 4 MiB, with all our leases and as many pods as fit', async () => {
    const { leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    const ids = Array.from({ length: 25_000 }, (_, index) => `device-${String(index).padStart(40, '0')}`);
    state.pods = [pod('a', ids), pod('b', ids), pod('c', ids), pod('small')];
    const bytes = await answers.list('v1');
    assert.ok(bytes.length <= MAX_ANSWER_BYTES);
    const names = ListPodResourcesResponse.decode(bytes).podResources.map(({ name }) => name);
    assert.deepEqual(names, ['a', 'b', 'small', 'u']);
    assert.equal(state.left, 1);
  });

  it('hand on questions about one pod, and do not let anybody use up what the kubelet answers', async () => {
    const { leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    assert.ok((await answers.get('user', 'u')) !== undefined);
    assert.equal(String(await answers.get('default', 'p')), 'pod');
    assert.equal(await answers.get('default', 'x'), undefined);
    await assert.rejects(async () => {
      for (;;) await answers.get('default', 'x');
    }, /too often/);
    assert.equal(Math.max(state.gets, 10), 10);
    assert.ok((await answers.get('user', 'u')) !== undefined);
  });

  it('say of a pod what the kubelet says, also where an owner calls itself like it; of that owner while there is no word', async () => {
    const { leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'default', name: 'p' }, devices: { 'v/gpu': ['g0'] } }));
    assert.equal(String(await answers.get('default', 'p')), 'pod');
    state.failure = new Error('it hangs');
    const found = GetPodResourcesResponse.decode((await answers.get('default', 'p')) ?? Buffer.alloc(0));
    assert.deepEqual(found.podResources?.containers[0]?.devices[0]?.deviceIds, ['g0']);
  });
});
