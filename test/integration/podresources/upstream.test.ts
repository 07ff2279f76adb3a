import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import {
  AllocatableResourcesResponse,
  podResourcesListerService,
} from '../../../src/generated/proto/podresources/v1/podresources.js';
import { eventually } from '../../support/eventually.js';
import { FakeLeases, lease } from '../../support/leases.js';
import { PodResourcesCaller } from '../../support/pod-resources-caller.js';
import { RunningSim } from '../../support/running-sim.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';

/** A kubelet that answers with bytes as they are given. */
async function kubelet(socket: string, bytes: () => Buffer): Promise<Server> {
  const server = new Server();
  const asIs = (given: Buffer): Buffer => given;
  const raw = { requestStream: false, responseStream: false, requestSerialize: asIs, requestDeserialize: asIs };
  const { path: method } = podResourcesListerService.GetAllocatableResources;
  server.addService(
    { GetAllocatableResources: { ...raw, path: method, responseSerialize: asIs, responseDeserialize: asIs } },
    {
      GetAllocatableResources: (_: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) =>
        answer(null, bytes()),
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (failure) =>
      failure === null ? resolve() : reject(failure),
    );
  });
  return server;
}

const answerOf = (count: number, resourceName = 'example.com/nic'): Buffer =>
  AllocatableResourcesResponse.encode({
    devices: Array.from({ length: count }, (_, n) => ({
      resourceName,
      deviceIds: [`device-${String(n)}-of-a-kubelet-with-many`],
      topology: { nodes: [{ id: n % 2 }] },
    })),
  });

/** A broker with two devices before such a kubelet. @param uid of their plugin */
async function bed(bytes: Buffer, uid = process.getuid?.() ?? 0) {
  const root = tempDir();
  const state = { bytes, told: new Map<string, string | undefined>() };
  const upstream = path.join(root, 'k.sock');
  const server = await kubelet(upstream, () => state.bytes);
  const broker = await startTestBroker(
    root,
    (settings) => ({ ...settings, podResources: { ...settings.podResources, upstream } }),
    {
      degraded: (what, why) => state.told.set(what, why),
      peers: {
        peerOf: () => ({ uid, gid: undefined, pid: undefined, startTime: undefined, source: 'socket-file' }),
        uidOf: () => undefined,
        uidOfTcp: () => undefined,
        turnAwayMore: () => undefined,
        turnAwayMoreTcp: () => undefined,
        listenerOf: () => ({ uid, gid: undefined, pid: undefined }),
        isListening: () => undefined,
      },
    },
  );
  const leases = new FakeLeases();
  await broker.broker.servePodResources(leases);
  const sim = new RunningSim(path.join(root, 'device-plugins'), { resource: 'example.com/gpu', devices: 2 });
  await eventually('the devices', () => broker.counts('example.com/gpu')?.allocatable === 2);
  const caller = new PodResourcesCaller(path.join(root, 'pod-resources', 'kubelet.sock'));
  const counts = async (): Promise<{ nics: number; gpus: number }> => {
    const { devices } = await caller.allocatable();
    const of = (name: string): number => devices.filter(({ resourceName }) => resourceName === name).length;
    return { nics: of('example.com/nic'), gpus: of('example.com/gpu') };
  };
  const owners = async (): Promise<string[]> => (await caller.list()).podResources.map(({ name }) => name);
  const end = async (): Promise<void> => {
    caller.close();
    await sim.stop();
    await broker.stop();
    server.forceShutdown();
  };
  return { state, leases, counts, owners, end };
}

describe('PodResources of a broker before a kubelet', () => {
  it('has as many devices of the kubelet as fit where that has more than clients take, and says so', async () => {
    const { state, counts, end } = await bed(answerOf(100_000));
    const { nics } = await counts();
    assert.ok(nics > 50_000 && nics < 100_000, String(nics));
    assert.match(state.told.get('pod-resources-answers') ?? '', /devices of \d resources? are not in GetAllocatable/);
    state.bytes = answerOf(10);
    await eventually('all of both', async () => {
      const { nics, gpus } = await counts();
      return nics === 10 && gpus === 2;
    });
    assert.equal(state.told.get('pod-resources-answers'), undefined);
    await end();
  });

  it('has its own devices alone where the answer of the kubelet is none, and says so', async () => {
    const { state, counts, end } = await bed(answerOf(1).subarray(0, -1));
    assert.deepEqual(await counts(), { nics: 0, gpus: 2 });
    assert.match(
      state.told.get('pod-resources-upstream') ?? '',
      /GetAllocatableResources of PodResources: .*claims more bytes/,
    );
    state.bytes = answerOf(1);
    await eventually('all of both', async () => (await counts()).nics === 1);
    assert.equal(state.told.get('pod-resources-upstream'), undefined);
    await end();
  });

  it("tells a resource of the kubelet's own plugin as the kubelet does, unless the plugin here is root's", async () => {
    for (const uid of [process.getuid?.() ?? 0, 4001]) {
      const { leases, counts, owners, end } = await bed(answerOf(3, 'example.com/gpu'), uid);
      leases.set(lease({ owner: { name: 'etcd' }, devices: { 'example.com/gpu': ['device-0'] } }));
      assert.deepEqual(
        [await owners(), await counts()],
        uid === 4001 ? [[], { nics: 0, gpus: 3 }] : [['etcd'], { nics: 0, gpus: 5 }],
      );
      await end();
    }
  });
});
