import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Device } from '../../../src/model/device.js';
import { MAX_ANSWER_BYTES } from '../../../src/podresources/answer-room.js';
import { LeaseAnswers } from '../../../src/podresources/lease-answers.js';
import type { AllocatablePart, UsableList } from '../../../src/podresources/ports.js';
import { usableLists } from '../../../src/podresources/usable-lists.js';
import { partsOf } from '../../../src/platform/wire/list-decoder.js';
import { ListAndWatchResponse } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { podEncoder } from '../../../src/platform/wire/pod-encoder.js';
import {
  AllocatableResourcesResponse,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from '../../../src/generated/proto/podresources/v1/podresources.js';
import { ListPodResourcesResponse as AlphaResponse } from '../../../src/generated/proto/podresources/v1alpha1/podresources.js';
import { inParts } from '../../support/fake-admin-port.js';
import { FakeLeases, lease } from '../../support/leases.js';
import { countTurns } from '../../support/turns.js';

function bed() {
  const leases = new FakeLeases();
  const told = new Map<string, number>();
  const state = { usable: [] as readonly UsableList[], strangers: new Map<string, number>() };
  const answers = new LeaseAnswers({
    leases,
    usable: () => state.usable,
    encoder: podEncoder,
    strangerOf: (resource) => state.strangers.get(resource),
    isKubelets: () => false,
    strangerOfUid: (uid) => (uid < 4000 ? undefined : uid),
    incomplete: (what, left) => told.set(what, left),
  });
  const names = (): string[] =>
    ListPodResourcesResponse.decode(answers.list('v1')).podResources.map(
      ({ namespace, name }) => `${namespace}/${name}`,
    );
  return { leases, answers, told, state, names };
}

const device = (id: string, numaNodes: readonly number[] = [], health = 'Healthy'): Device => ({
  id,
  health,
  numaNodes,
});

describe('the answers of PodResources', () => {
  it('have one entry for each device and NUMA node with one id each, and owners by namespace and name', () => {
    const { leases, answers, names } = bed();
    leases.set(
      lease({ owner: { namespace: 'user', name: 'b' }, devices: { 'v/gpu': ['g0@0,1', 'g1'] } }),
      lease({ owner: { namespace: 'user', name: 'a' }, devices: { 'v/gpu': ['g2'] } }),
      lease({ owner: { namespace: 'systemd', name: 'z.service', part: 'main' }, devices: { 'v/gpu': ['g3'] } }),
    );
    assert.deepEqual(names(), ['systemd/z.service', 'user/a', 'user/b']);
    const list = ListPodResourcesResponse.decode(answers.list('v1'));
    assert.equal(list.podResources[0]?.containers[0]?.name, 'main');
    assert.deepEqual(
      list.podResources[2]?.containers[0]?.devices.map(({ resourceName, deviceIds, topology }) => [
        resourceName,
        deviceIds,
        topology?.nodes,
      ]),
      [
        ['v/gpu', ['g0'], [{ id: 0 }]],
        ['v/gpu', ['g0'], [{ id: 1 }]],
        ['v/gpu', ['g1'], undefined],
      ],
    );
  });

  it('have all ids of a resource together in v1alpha1', () => {
    const { leases, answers } = bed();
    leases.set(lease({ devices: { 'v/gpu': ['g1@0,1', 'g0'], 'v/acc': ['a'] } }));
    const [pod] = AlphaResponse.decode(answers.list('v1alpha1')).podResources;
    assert.deepEqual(pod?.containers[0]?.devices, [
      { resourceName: 'v/acc', deviceIds: ['a'] },
      { resourceName: 'v/gpu', deviceIds: ['g0', 'g1'] },
    ]);
  });

  it('are encoded once for each change', () => {
    const { leases, answers } = bed();
    leases.set(lease());
    const first = answers.list('v1');
    assert.equal(answers.list('v1'), first);
    answers.list('v1alpha1');
    const [{ namespace, name } = { namespace: '', name: '' }] = ListPodResourcesResponse.decode(first).podResources;
    const got = answers.get(namespace, name);
    assert.ok(got !== undefined);
    assert.equal(answers.get(namespace, name), got);
    assert.equal(leases.reads, 1);
    leases.set(lease(), lease({ owner: { name: 'other' } }));
    assert.notEqual(answers.list('v1'), first);
    assert.notEqual(answers.get(namespace, name), got);
    assert.equal(leases.reads, 2);
  });

  it('name all healthy devices, given out or not, and are read again only when a list is another', async () => {
    const { leases, answers, state } = bed();
    let decoded = 0;
    const list = (resource: string, ...devices: readonly Device[]): UsableList => ({
      resource,
      list: devices,
      stranger: undefined,
      devices: () => {
        decoded += 1;
        return inParts(devices);
      },
    });
    leases.set(lease({ devices: { 'v/gpu': ['g0'] } }));
    state.usable = [list('v/gpu', device('g0', [1]), device('g1', [], 'Sick')), list('v/acc', device('a'))];
    const ids = async (): Promise<unknown> =>
      AllocatableResourcesResponse.decode(await answers.allocatable()).devices.map(({ deviceIds }) => deviceIds[0]);
    assert.deepEqual(await ids(), ['a', 'g0']);
    assert.deepEqual(await ids(), ['a', 'g0']);
    assert.equal(decoded, 2);
    state.usable = [list('v/gpu', device('g0'), device('g1'))];
    assert.deepEqual(await ids(), ['g0', 'g1']);
  });

  it('give one owner, and nothing for one that has no lease', () => {
    const { leases, answers } = bed();
    leases.set(lease({ owner: { namespace: 'user', name: 'a' }, devices: { 'v/gpu': ['g'] } }));
    const found = GetPodResourcesResponse.decode(answers.get('user', 'a') ?? Buffer.alloc(0));
    assert.deepEqual(found.podResources?.containers[0]?.devices[0]?.deviceIds, ['g']);
    assert.equal(answers.get('user', 'b'), undefined);
    assert.equal(answers.get('', 'a'), undefined);
    leases.set();
    assert.equal(answers.get('user', 'a'), undefined);
  });

  it('are never longer than 4 MiB: owners with the newest leases are left out, and that is told until it is over', () => {
    const { leases, answers, told, names } = bed();
    const long = (letter: string): string[] => Array.from({ length: 1024 }, (_, n) => `${letter}${n}`.padEnd(256, '-'));
    const many = Array.from({ length: 20 }, (_, n) =>
      lease({ owner: { namespace: 'user', name: `n${String(99 - n)}` }, devices: { 'v/gpu': long(`l${n}`) } }),
    );
    leases.set(...many);
    assert.ok(answers.list('v1').length <= MAX_ANSWER_BYTES);
    const kept = names();
    assert.ok(kept.length >= 10 && kept.length < 20, String(kept.length));
    assert.deepEqual(
      kept,
      Array.from({ length: kept.length }, (_, n) => `user/n${String(100 - kept.length + n)}`),
    );
    assert.equal(told.get('List'), 20 - kept.length);
    leases.set(lease());
    names();
    assert.equal(told.get('List'), 0);
  });

  it('have the owners of root first, and of each ordinary user a quarter, whoever came first', () => {
    const { leases, told, names } = bed();
    const of = (uid: number, name: string, count: number) => ({
      ...lease({
        owner: { namespace: 'user', name },
        devices: { 'v/gpu': Array.from({ length: count }, (_, n) => `${name}-${n}`.padEnd(250, '-')) },
      }),
      uid,
    });
    const users = [4001, 4002, 4003, 4004, 4005].flatMap((uid) =>
      Array.from({ length: 8 }, (_, n) => of(uid, `u${uid}-${n}`, 700)),
    );
    leases.set(...users, of(0, 'roots', 3500));
    const kept = names();
    assert.ok(kept.includes('user/roots'));
    const countOf = (uid: number): number => kept.filter((name) => name.startsWith(`user/u${uid}`)).length;
    assert.deepEqual([4001, 4002, 4003, 4004, 4005].map(countOf), [5, 5, 5, 2, 0]);
    assert.equal(told.get('List'), 40 + 1 - kept.length);
  });

  it('have as many devices of one owner as fit, and that is told until its leases are others', () => {
    const { leases, answers, told } = bed();
    const owner = { namespace: 'user', name: 'a' };
    const ids = (letter: string): string[] =>
      Array.from({ length: 1024 }, (_, n) => `${letter}${String(n).padStart(4, '0')}`.padEnd(200, '-'));
    const parts = Array.from({ length: 26 }, (_, n) => String.fromCharCode(97 + n));
    leases.set(...parts.map((part) => lease({ owner: { ...owner, part }, devices: { 'v/gpu': ids(part) } })));
    const answer = answers.get('user', 'a') ?? Buffer.alloc(0);
    const { length } = answer;
    assert.ok(length <= MAX_ANSWER_BYTES && length > 0.98 * MAX_ANSWER_BYTES, String(length));
    const { podResources } = GetPodResourcesResponse.decode(answer);
    const given =
      podResources?.containers.flatMap(({ devices }) => devices.flatMap(({ deviceIds }) => deviceIds)) ?? [];
    assert.deepEqual(given, parts.flatMap(ids).slice(0, given.length));
    assert.equal(told.get('Get'), 1);
    leases.set(lease({ owner, devices: { 'v/gpu': ['g'] } }));
    answers.get('user', 'a');
    assert.equal(told.get('Get'), 0);
  });

  it('leave out devices that do not fit, by resource, from a list of 200,000', async () => {
    const { answers, told, state } = bed();
    const devices = Array.from({ length: 200_000 }, (_, n) => device(`device-${String(n)}`, [n % 2]));
    let taken = 0;
    const parts = async function* (): AsyncGenerator<readonly Device[]> {
      for await (const part of inParts(devices)) {
        taken += part.length;
        yield part;
      }
    };
    state.usable = [{ resource: 'v/many', list: devices, stranger: undefined, devices: parts }];
    assert.ok((await answers.allocatable()).length <= MAX_ANSWER_BYTES);
    assert.ok(taken < devices.length, 'a device that does not fit is not looked at');
    assert.equal(told.get('GetAllocatableResources'), 1);
  });

  it('have the devices of root and of each user, whatever another user lists, and no more than is asked for', async () => {
    const { answers, told, state } = bed();
    const long = Array.from({ length: 100_000 }, (_, n) => device(`device-${String(n)}`));
    const usable = (resource: string, stranger: number | undefined, devices: readonly Device[]): UsableList => ({
      ...{ resource, stranger, list: devices },
      devices: () => inParts(devices),
    });
    state.usable = [
      usable('a/x', 4001, long),
      usable('a/y', 4001, long.slice(0, 9)),
      usable('b/x', 4002, [device('b')]),
      usable('r/gpu', undefined, [device('r0'), device('r1')]),
    ];
    const bytes = await answers.allocatable();
    const counts = new Map<string, number>();
    for (const { resourceName } of AllocatableResourcesResponse.decode(bytes).devices)
      counts.set(resourceName, (counts.get(resourceName) ?? 0) + 1);
    assert.deepEqual([counts.get('r/gpu'), counts.get('b/x'), counts.get('a/y')], [2, 1, undefined]);
    assert.ok(bytes.length < MAX_ANSWER_BYTES / 3, String(bytes.length));
    assert.equal(told.get('GetAllocatableResources'), 2);
  });

  it("have the devices of root first, a kubelet's before ours, and those of a user in one share, whoever told them", async () => {
    const { answers, told, state } = bed();
    const usable = (resource: string, stranger: number | undefined, count: number): UsableList => {
      const list = Array.from({ length: count }, (_, n) => device(`device-${String(n)}`));
      return { resource, stranger, list, devices: () => inParts(list) };
    };
    const part = (resource: string, count: number): AllocatablePart => {
      const one = podEncoder.allocatable({ resource, id: 'device', numaNodes: [] });
      return { resource, hasIds: true, bytes: Buffer.concat(Array.from({ length: count }, () => one)) };
    };
    const parts = (resource: string, count: number, times: number): AllocatablePart[] =>
      Array.from({ length: times }, () => part(resource, count));
    state.strangers.set('u/front', 4001);
    state.usable = [usable('r/gpu', undefined, 2000), usable('u/x', 4001, 100_000), usable('w/x', 4002, 7)];
    const theirs = [...parts('u/front', 2000, 13), ...parts('k/nic', 2000, 40), part('', 0)];
    const counted = async (given: readonly AllocatablePart[]): Promise<Map<string, number>> => {
      const bytes = await answers.allocatable(given);
      assert.ok(bytes.length <= MAX_ANSWER_BYTES, String(bytes.length));
      const counts = new Map<string, number>();
      for (const { resourceName } of AllocatableResourcesResponse.decode(bytes).devices)
        counts.set(resourceName, (counts.get(resourceName) ?? 0) + 1);
      return counts;
    };
    const counts = await counted(theirs);
    assert.deepEqual([...counts.keys()], ['k/nic', 'r/gpu', 'u/front', 'u/x', 'w/x']);
    assert.deepEqual([counts.get('k/nic'), counts.get('r/gpu'), counts.get('w/x')], [80_000, 2000, 7]);
    const size = podEncoder.allocatable({ resource: 'u/front', id: 'device', numaNodes: [] }).length;
    const ofUser = ((counts.get('u/front') ?? 0) + (counts.get('u/x') ?? 0)) * size;
    assert.ok(ofUser < MAX_ANSWER_BYTES / 3 && ofUser > MAX_ANSWER_BYTES / 6, String(ofUser));
    assert.equal(told.get('GetAllocatableResources'), 1, 'u/x');
    const many = await counted(parts('k/nic', 2000, 200));
    assert.ok((many.get('k/nic') ?? 0) > 150_000);
    assert.ok((told.get('GetAllocatableResources') ?? 0) > 1);
    await counted([]);
    assert.equal(told.get('GetAllocatableResources'), 1, 'u/x alone has more than its share again');
  });

  it('are encoded anew from the lists alone that are others', async () => {
    const { answers, state } = bed();
    let decoded: string[] = [];
    const usable = (resource: string, stranger: number | undefined, list: readonly Device[]): UsableList => ({
      ...{ resource, stranger, list },
      devices: () => {
        decoded.push(resource);
        return inParts(list);
      },
    });
    const roots = usable('r/gpu', undefined, [device('r')]);
    const long = usable(
      'u/long',
      4001,
      Array.from({ length: 100_000 }, (_, n) => device(`device-${String(n)}`)),
    );
    const ids = async (): Promise<unknown[]> =>
      AllocatableResourcesResponse.decode(await answers.allocatable()).devices.map(({ deviceIds }) => deviceIds[0]);
    for (const id of ['a', 'b', 'c']) {
      state.usable = [usable('w/x', 4002, [device(id)]), roots, long];
      assert.equal((await ids()).at(-1), id);
    }
    assert.deepEqual(decoded, ['r/gpu', 'u/long', 'w/x', 'w/x', 'w/x']);
    decoded = [];
    state.usable = [usable('a/x', undefined, [device('a')]), roots, long];
    assert.deepEqual((await ids()).slice(0, 2), ['a', 'r']);
    assert.deepEqual(decoded, ['a/x']);
  });

  it('look at a long list in turns, also at devices of it that are in none', async () => {
    const { answers, state } = bed();
    const COUNT = 20_000;
    const raw = ListAndWatchResponse.encode({
      devices: Array.from({ length: COUNT }, (_, n) => ({ id: `d${String(n)}`, health: n === 0 ? 'Healthy' : 'Sick' })),
    });
    const resource = {
      owner: { id: 'i', seq: 1, state: 'ready', isHint: false },
      name: 'v/many',
      capacity: COUNT,
    } as const;
    const holding = { instanceId: 'i', resource: 'v/many', raw, sha256: '', devices: COUNT, healthy: 1 };
    state.usable = usableLists([{ ...resource, holding, allocatable: 1 }], undefined, partsOf, () => undefined);
    const { made, turns } = await countTurns(() => answers.allocatable());
    const { devices } = AllocatableResourcesResponse.decode(made);
    assert.deepEqual([devices.length, devices[0]?.deviceIds], [1, ['d0']]);
    assert.ok(turns > COUNT / 1500, `${String(turns)} turns`);
  });
});
