import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../../src/model/ids.js';
import { MAX_ANSWER_BYTES } from '../../../src/podresources/answer-room.js';
import { LeaseAnswers } from '../../../src/podresources/lease-answers.js';
import type { UsableList } from '../../../src/podresources/ports.js';
import { UpstreamAnswers } from '../../../src/podresources/upstream.js';
import { sleep } from '../../../src/kernel/clock.js';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { podEncoder } from '../../../src/platform/wire/pod-encoder.js';
import {
  GetPodResourcesResponse,
  AllocatableResourcesResponse,
  ListPodResourcesResponse,
} from '../../../src/generated/proto/podresources/v1/podresources.js';
import { ListPodResourcesResponse as AlphaResponse } from '../../../src/generated/proto/podresources/v1alpha1/podresources.js';
import { inParts } from '../../support/fake-admin-port.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeLeases, lease } from '../../support/leases.js';

const pod = (name: string, ids: readonly string[] = ['d0']): Buffer =>
  podEncoder.listed('v1', {
    namespace: 'default',
    name,
    containers: [{ name: 'c', devices: ids.map((id) => ({ resource: 'v/nic', id, numaNodes: [] })) }],
  });

const named = (bytes: Buffer): { namespace: string; name: string } => {
  const [found] = ListPodResourcesResponse.decode(bytes).podResources;
  return { namespace: found?.namespace ?? '', name: found?.name ?? '' };
};
const caller = (uid: number): Caller => ({ uid, gid: uid, pid: uid, startTime: '1', source: 'peercred' });

function bed() {
  const clock = new FakeClock();
  const leases = new FakeLeases();
  const told: (string | undefined)[] = [];
  const state = {
    pods: [pod('p')] as Buffer[],
    usable: [] as readonly UsableList[],
    /** How many devices the kubelet has, and of what. */
    devices: 1,
    resource: 'v/nic',
    /** Resources whose plugin here is an ordinary user's, or gone, and that are not offered to the kubelet by us. */
    kubelets: new Set<string>(),
    failure: undefined as Error | undefined,
    refusesGet: undefined as Error | undefined,
    hangs: undefined as Promise<never> | undefined,
    /** The kubelet lets every question time out. */
    isSilent: false,
    /** Questions of one method under way at most at one time. */
    most: 0,
    getting: undefined as (() => Promise<Buffer>) | undefined,
    mayList: (_ageMs: number): boolean => true,
    overtaken: new AbortController(),
    listing: (): AbortSignal => state.overtaken.signal,
    failureOfDevices: undefined as Error | undefined,
    asked: 0,
    askedDevices: 0,
    gets: 0,
    left: 0,
  };
  const underWay = { list: 0, allocatable: 0, get: 0 };
  const timesOut = async (method: keyof typeof underWay, limitMs: number): Promise<never> => {
    state.most = Math.max(state.most, ++underWay[method]);
    await sleep(clock, limitMs);
    underWay[method]--;
    throw new Error('no answer in time');
  };
  const own = new LeaseAnswers({
    leases,
    usable: () => state.usable,
    encoder: podEncoder,
    strangerOf: () => undefined,
    isKubelets: (resource) => state.kubelets.has(resource),
    strangerOfUid: (uid) => (uid < 4000 ? undefined : uid),
    incomplete: () => undefined,
  });
  const answers = new UpstreamAnswers(own, {
    kubelet: {
      list: (limitMs) => {
        state.asked++;
        if (state.isSilent) return timesOut('list', limitMs);
        if (state.failure !== undefined) return Promise.reject(state.failure);
        return state.hangs ?? Promise.resolve(state.pods.map((bytes) => ({ ...named(bytes), bytes })));
      },
      allocatable: (limitMs) => {
        state.askedDevices++;
        if (state.isSilent) return timesOut('allocatable', limitMs);
        if (state.failureOfDevices !== undefined) return Promise.reject(state.failureOfDevices);
        const { resource } = state;
        const one = podEncoder.allocatable({ resource, id: 'd0', numaNodes: [] });
        const bytes = Buffer.concat(Array.from({ length: state.devices }, () => one));
        return Promise.resolve([{ resource, bytes, hasIds: true }]);
      },
      get: (_, name, limitMs) => {
        state.gets++;
        if (state.isSilent) return timesOut('get', limitMs);
        if (state.getting !== undefined) return state.getting();
        if (state.refusesGet !== undefined) return Promise.reject(state.refusesGet);
        if (state.failure !== undefined) return Promise.reject(state.failure);
        return Promise.resolve(name === 'p' ? Buffer.from('pod') : undefined);
      },
    },
    ...{ clock, ownUid: 0, userOf: (uid: number) => uid - (uid % 10) },
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

  it('have all devices of the kubelet, and of ours as many as fit behind them', async () => {
    const { state, answers } = bed();
    const list = Array.from({ length: 100_000 }, (_, nth) => ({
      id: `g${String(nth)}`,
      health: 'Healthy',
      numaNodes: [],
    }));
    state.usable = [{ resource: 'v/gpu', list, stranger: undefined, devices: () => inParts(list) }];
    state.devices = 250_000;
    const bytes = await answers.allocatable();
    assert.ok(bytes.length <= MAX_ANSWER_BYTES && bytes.length > MAX_ANSWER_BYTES - 65_536, String(bytes.length));
    const counts = { 'v/nic': 0, 'v/gpu': 0 };
    for (const { resourceName } of AllocatableResourcesResponse.decode(bytes).devices)
      counts[resourceName as keyof typeof counts] += 1;
    assert.equal(counts['v/nic'], 250_000);
    assert.ok(counts['v/gpu'] > 1000, String(counts['v/gpu']));
  });

  it('are made once for all that ask at once', async () => {
    const { leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    const devices = [{ id: 'g0', health: 'Healthy', numaNodes: [] }];
    state.usable = [{ resource: 'v/gpu', list: devices, stranger: undefined, devices: () => inParts(devices) }];
    const methods = [
      () => answers.allocatable(),
      () => answers.list('v1'),
      () => answers.list('v1alpha1'),
      () => answers.get('user', 'u'),
    ];
    for (const ask of methods) {
      const made = await Promise.all(Array.from({ length: 100 }, async () => ask()));
      assert.equal(new Set(made).size, 1, String(ask));
      assert.ok(Buffer.isBuffer(made[0]) && made[0].length > 0);
    }
    let [gets, answer] = [0, undefined as ((bytes: Buffer) => void) | undefined];
    state.getting = () => {
      gets += 1;
      return new Promise<Buffer>((resolve) => (answer = resolve));
    };
    const asked = Array.from({ length: 100 }, async () => answers.get('default', 'q'));
    await nextTurn();
    answer?.(Buffer.from('q'));
    assert.deepEqual([new Set(await Promise.all(asked)).size, gets], [1, 1], 'a pod of the kubelet');
  });

  it('ask the kubelet once a second however many ask, and never while it allocates; leases are new each time', async () => {
    const { clock, leases, state, names } = bed();
    await Promise.all(Array.from({ length: 20 }, names));
    assert.equal(state.asked, 1);
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    assert.deepEqual(await names(), ['p', 'u']);
    assert.equal(state.asked, 1);
    await clock.advance(1000);
    state.mayList = () => false;
    await names();
    assert.equal(state.asked, 1, 'an Allocate is under way');
    state.mayList = () => true;
    state.pods = [pod('q')];
    assert.deepEqual(await names(), ['q', 'u']);
    assert.equal(state.asked, 2);
  });

  it('keep the last answer when an Allocate overtakes the question, which is no failure, and ask again a second later', async () => {
    const { clock, state, told, names } = bed();
    await names();
    await clock.advance(1000);
    state.hangs = new Promise<never>((_, reject) => {
      state.overtaken.signal.addEventListener('abort', () => reject(new Error('cancelled')));
    });
    const answered = names();
    await clock.settle();
    state.overtaken.abort();
    assert.deepEqual(await answered, ['p']);
    assert.deepEqual([state.asked, told.filter((why) => why !== undefined)], [2, []]);
    Object.assign(state, { hangs: undefined, overtaken: new AbortController(), pods: [pod('q')] });
    assert.deepEqual(await names(), ['p']);
    await clock.advance(1000);
    assert.deepEqual([await names(), state.asked], [['q'], 3]);
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

  it('have the trouble of each method told until that one answers again', async () => {
    const { clock, state, told, answers, names } = bed();
    const ask = async (): Promise<string | undefined> => {
      await clock.advance(1000);
      await names();
      await answers.allocatable();
      return told.at(-1);
    };
    assert.equal(await ask(), undefined);
    state.failureOfDevices = new Error('switched off');
    const devices = 'the kubelet does not answer GetAllocatableResources of PodResources: switched off';
    assert.deepEqual([await ask(), await ask()], [devices, devices], 'List answers meanwhile');
    state.failure = new Error('busy');
    assert.equal(await ask(), `${devices}; nor List of PodResources: busy`);
    state.failureOfDevices = undefined;
    assert.equal(await ask(), 'the kubelet does not answer List of PodResources: busy');
    state.failure = undefined;
    assert.equal(await ask(), undefined);
  });

  it('cost one time-out where the kubelet hangs, and after it nobody waits, while one question at a time tries', async () => {
    for (const method of ['list', 'allocatable', 'get'] as const) {
      const { clock, state, told, answers } = bed();
      let nth = 0;
      const ask = (): { outcome: () => string } => {
        let outcome = 'waits';
        const asked = method === 'get' ? answers.get('default', `p${String(nth++)}`) : answers[method]('v1');
        void Promise.resolve(asked).then(
          (answer) => (outcome = Buffer.isBuffer(answer) ? 'answered' : String(answer)),
          (failure: unknown) => (outcome = (failure as Error).message),
        );
        return { outcome: () => outcome };
      };
      const now = async (): Promise<string> => {
        const { outcome } = ask();
        await clock.settle();
        return outcome();
      };
      const without = method === 'get' ? 'no answer in time' : 'answered';
      state.isSilent = true;
      const first = ask();
      await clock.advance(4999);
      assert.equal(first.outcome(), 'waits', method);
      await clock.advance(method === 'get' ? 501 : 1); // where Get is not answered, List may be
      assert.equal(first.outcome(), without, method);
      for (let second = 0; second < 30; second++) {
        assert.equal(await now(), without, `${method}, ${String(second)} s later`);
        await clock.advance(1000);
      }
      assert.equal(state.most, 1, method);
      assert.match(told.at(-1) ?? '', /no answer in time/, method);
      await clock.advance(20_000);
      const later = ask();
      await clock.advance(method === 'get' ? 1000 : 500);
      assert.notEqual(later.outcome(), 'waits', 'who comes when it may answer again waits half a second for each');
      await clock.advance(5000);
      state.isSilent = false;
      await now();
      const again = await now();
      assert.equal(again, method === 'get' ? 'undefined' : 'answered', method);
      if (method !== 'get') assert.equal(told.at(-1), undefined);
    }
  });

  it('have the pods before owners of ordinary users, and are not made anew for each answer of the kubelet', async () => {
    const { clock, leases, state, answers } = bed();
    const ids = (name: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${name}-${n}`.padEnd(250, '-'));
    const of = (uid: number, name: string, count: number) => ({
      ...lease({ owner: { namespace: 'user', name }, devices: { 'v/gpu': ids(name, count) } }),
      uid,
    });
    leases.set(...[4001, 4002, 4003].map((uid) => of(uid, `u${uid}`, 3500)), of(0, 'roots', 100));
    state.pods = [pod('a', ids('a', 6000)), pod('b', ids('b', 3000))];
    const names = async () =>
      ListPodResourcesResponse.decode(await answers.list('v1')).podResources.map(({ name }) => name);
    assert.deepEqual(await names(), ['a', 'b', 'roots', 'u4001']);
    assert.equal(state.left, 0);
    state.pods = [pod('a', ids('a', 600))];
    await clock.advance(1000);
    assert.deepEqual(await names(), ['a', 'roots', 'u4001', 'u4002', 'u4003']);
    const [before] = [leases.reads];
    state.pods = [pod('a', ids('a', 300))];
    await clock.advance(1000);
    assert.deepEqual(await names(), ['a', 'roots', 'u4001', 'u4002', 'u4003']);
    assert.equal(leases.reads, before);
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

  it('hand on questions about one pod, and do not let anybody use up what the kubelet answers, or what others may ask', async () => {
    const { clock, leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    assert.equal(String(await answers.get('default', 'p')), 'pod');
    assert.equal(await answers.get('default', 'x'), undefined);
    await clock.advance(10_000);
    state.gets = 0;
    const untilLimited = async (uid: number): Promise<void> => {
      while ((await answers.get('default', 'x', caller(uid))) !== 'limited');
    };
    await untilLimited(4001);
    assert.equal(state.gets, 5);
    await clock.advance(100);
    await untilLimited(4002);
    assert.equal(state.gets, 6, 'another uid of that user, ten a second');
    await untilLimited(0);
    assert.equal(state.gets, 10, 'half of what the kubelet answers to all');
    assert.ok((await answers.get('user', 'u')) !== undefined, 'owners of leases cost it nothing');
  });

  it('have a pod as List has it where the kubelet does not answer Get', async () => {
    const { state, answers } = bed();
    state.refusesGet = new Error('PodResources API Get method disabled');
    const got = await answers.get('default', 'p');
    assert.ok(got instanceof Buffer);
    assert.equal(GetPodResourcesResponse.decode(got).podResources?.name, 'p');
    await assert.rejects(async () => answers.get('default', 'x'), /disabled/, 'that one may exist, or not');
  });

  it('say of a pod what the kubelet says and nothing else, whatever owners are called', async () => {
    const { clock, leases, state, answers, names } = bed();
    leases.set(lease({ owner: { namespace: 'default', name: 'p' }, devices: { 'v/gpu': ['g0'] } }));
    assert.equal(String(await answers.get('default', 'p')), 'pod');
    const bytes = await answers.list('v1');
    const [found, ...others] = ListPodResourcesResponse.decode(bytes).podResources;
    assert.deepEqual([found?.containers[0]?.devices[0]?.deviceIds, others], [['d0'], []]);
    let got = await answers.get('default', 'p');
    for (; got !== 'limited'; got = await answers.get('default', 'p')) assert.equal(String(got), 'pod');
    await clock.advance(2000);
    state.failure = new Error('it is restarting');
    await assert.rejects(async () => answers.get('default', 'p'), /it is restarting/);
    state.failure = undefined;
    state.pods = [];
    await clock.advance(1000);
    const ids = async (name: string): Promise<unknown> => {
      const found = await answers.get('default', name);
      return Buffer.isBuffer(found) && found.length > 3
        ? GetPodResourcesResponse.decode(found).podResources?.containers[0]?.devices[0]?.deviceIds
        : String(found);
    };
    assert.deepEqual(await ids('p'), ['g0'], 'the pod is gone');
    assert.deepEqual(await names(), ['p']);
    state.mayList = () => false;
    await clock.advance(5000);
    assert.equal(await ids('p'), 'pod', 'a pod of that name came while it may not be asked for all');
    state.failure = new Error('it is restarting');
    assert.deepEqual(await ids('p'), ['g0'], 'and says nothing now');
    state.mayList = () => true;
    await clock.advance(2000);
    for (let nth = 0; nth < 20; nth += 1) assert.deepEqual(await ids('p'), ['g0'], 'nor to a question for all');
  });

  it("leave out what an ordinary user's plugin says of a resource that the kubelet has from a plugin of its own", async () => {
    const { clock, leases, state, answers, names } = bed();
    leases.set(
      lease({ owner: { namespace: 'kube-system', name: 'etcd' }, devices: { 'v/gpu': ['g0'] } }),
      lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g1'], 'v/tty': ['t'] } }),
    );
    const list = [{ id: 'd0', health: 'Healthy', numaNodes: [] }];
    state.usable = [{ resource: 'v/gpu', list, stranger: 4001, devices: () => inParts(list) }];
    const seen = async () => {
      const ofOwner = async (namespace: string, name: string): Promise<unknown> => {
        const got = await answers.get(namespace, name);
        if (!Buffer.isBuffer(got)) return got;
        const { podResources } = GetPodResourcesResponse.decode(got);
        return podResources?.containers.flatMap(({ devices }) => devices.map(({ resourceName }) => resourceName));
      };
      const { devices } = AllocatableResourcesResponse.decode(await answers.allocatable());
      return {
        etcd: await ofOwner('kube-system', 'etcd'),
        u: await ofOwner('user', 'u'),
        list: await names(),
        alpha: AlphaResponse.decode(await answers.list('v1alpha1')).podResources.map(({ name }) => name),
        devices: devices.map(({ resourceName }) => resourceName),
      };
    };
    const all = ['p', 'etcd', 'u'];
    const both = { etcd: ['v/gpu'], u: ['v/gpu', 'v/tty'], list: all, alpha: all };
    state.kubelets.add('v/gpu');
    assert.deepEqual(await seen(), { ...both, devices: ['v/nic', 'v/gpu'] }, 'the kubelet has no such resource');
    state.resource = 'v/gpu';
    await clock.advance(1000);
    const [others, left] = [['p', 'u'], { etcd: undefined, u: ['v/tty'] }];
    assert.deepEqual(await seen(), { ...left, list: others, alpha: others, devices: ['v/gpu'] });
    state.failureOfDevices = new Error('it is restarting');
    await clock.advance(1000);
    assert.deepEqual(
      await seen(),
      { ...left, list: others, alpha: others, devices: ['v/gpu'] },
      'the last answer stays',
    );
    state.kubelets.clear();
    assert.deepEqual(await seen(), { ...both, devices: ['v/gpu'] }, "the plugin is root's now, or we offer it");
    state.kubelets.add('v/gpu');
    Object.assign(state, { failureOfDevices: undefined, resource: 'v/nic' });
    await clock.advance(1000);
    assert.deepEqual(await seen(), { ...both, devices: ['v/nic', 'v/gpu'] });
    assert.equal(state.askedDevices, 4, 'once a second for all three');
  });

  it('have owners before any other answer without those of such a resource, also where the kubelet tells no pods', async () => {
    const { leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'kube-system', name: 'etcd' }, devices: { 'v/gpu': ['g0'] } }));
    Object.assign(state, { resource: 'v/gpu', kubelets: new Set(['v/gpu']), failure: new Error('switched off') });
    await assert.rejects(async () => answers.get('kube-system', 'etcd'), /switched off/);
    assert.equal((await answers.list('v1')).length, 0);
  });

  it('wait half a second for a kubelet that hangs, and no longer, once it has answered', async () => {
    const { clock, leases, state, answers } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'u' }, devices: { 'v/gpu': ['g0'] } }));
    state.hangs = new Promise(() => undefined);
    let own: unknown;
    void (async () => (own = await answers.get('user', 'u')))();
    await clock.advance(500);
    assert.ok(own !== undefined, 'before it has answered at all');
    answers.close();

    const second = bed();
    assert.deepEqual(await second.names(), ['p']);
    await second.clock.advance(1000);
    second.state.hangs = new Promise(() => undefined);
    let seen: string[] | undefined;
    void second.names().then((now) => (seen = now));
    await second.clock.advance(499);
    assert.equal(seen, undefined);
    await second.clock.advance(1);
    assert.deepEqual(seen, ['p']);
    assert.deepEqual(await second.names(), ['p'], 'others do not wait for it');
    assert.equal(second.state.asked, 2);
  });
});
