import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { silentLog } from '../../support/silence.js';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import { servePodResources } from '../../../src/platform/grpc/pod-resources-service.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import type { WireMethod } from '../../../src/platform/wire/method.js';
import {
  podResourcesListerService as v1,
  type ListPodResourcesResponse,
} from '../../../src/generated/proto/podresources/v1/podresources.js';
import { podResourcesListerService as v1alpha1 } from '../../../src/generated/proto/podresources/v1alpha1/podresources.js';
import type { Decoded, Fields, Given } from '../../../src/platform/wire/table.js';
import type { PodResourcesBackend } from '../../../src/podresources/ports.js';
import { podEncoder } from '../../../src/platform/wire/pod-encoder.js';
import { tempDir } from '../../support/temp-dir.js';

const POD = { namespace: 'user', name: 'a', containers: [] };

interface Served {
  readonly counts: string[];
  readonly ask: <Q extends Fields, A extends Fields>(
    method: WireMethod<Q, A>,
    request: Given<Q>,
  ) => Promise<Decoded<A>>;
}

/** Longer answers are not given. */
const MOST_BYTES = 4096;

async function served(given: Partial<PodResourcesBackend>, work: (bed: Served) => Promise<void>, mayAsk = () => true) {
  const socket = path.join(tempDir(), 'kubelet.sock');
  const counts: string[] = [];
  const accept = (stream: Socket) => ({
    caller: undefined,
    stream,
    slowDown: () => undefined,
    answered: () => undefined,
  });
  const door = new GrpcDoor({ clock: systemClock, accept, streams: 8, maxRequestBytes: 65_536 });
  servePodResources(door, {
    backend: {
      list: (version) => podEncoder.listed(version, POD),
      allocatable: () => Buffer.alloc(0),
      get: () => undefined,
      ...given,
    },
    mayAsk,
    mayGive: (_caller, bytes) => bytes <= MOST_BYTES,
    count: (method, result) => counts.push(`${method} ${result}`),
    log: silentLog,
  });
  const server = createServer(door.take);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  try {
    await work({
      counts,
      ask: (method, request) =>
        new Promise((resolve, reject) => {
          client.makeUnaryRequest(
            method.path,
            method.requestSerialize,
            method.responseDeserialize,
            request,
            (failure: ServiceError | null, answer) => {
              if (answer === undefined) reject(failure ?? new Error('no answer'));
              else resolve(answer);
            },
          );
        }),
    });
  } finally {
    client.close();
    door.destroy();
    server.close();
  }
}

describe('PodResources on a socket', () => {
  it('answers both versions, from a backend that is ready or one that has to ask first', async () => {
    const slow = (version: 'v1' | 'v1alpha1'): Promise<Buffer> =>
      Promise.resolve(
        Buffer.concat([podEncoder.listed(version, POD), podEncoder.listed(version, { ...POD, namespace: 'pods' })]),
      );
    await served({ list: slow }, async ({ ask, counts }) => {
      const names = (answer: Decoded<typeof ListPodResourcesResponse.fields>): string[] =>
        answer.podResources.map(({ namespace, name }) => `${namespace}/${name}`);
      assert.deepEqual(names(await ask(v1.List, {})), ['user/a', 'pods/a']);
      assert.equal((await ask(v1alpha1.List, {})).podResources[1]?.namespace, 'pods');
      assert.deepEqual((await ask(v1.GetAllocatableResources, {})).devices, []);
      assert.deepEqual(counts, ['List ok', 'List ok', 'GetAllocatableResources ok']);
    });
  });

  it('says of an unknown owner what a kubelet says of an unknown pod', () =>
    served({}, async ({ ask, counts }) => {
      await assert.rejects(ask(v1.Get, { podNamespace: 'ns', podName: 'p' }), {
        code: status.UNKNOWN,
        details: 'pod p in namespace ns not found',
      });
      assert.deepEqual(counts, ['Get not-found']);
    }));

  it('answers about a name that is too long for a status', () =>
    served({}, async ({ ask, counts }) => {
      const name = '%'.repeat(60_000);
      const details = `pod ${name.slice(0, 253)} in namespace ns not found`;
      await assert.rejects(ask(v1.Get, { podNamespace: 'ns', podName: name }), { code: status.UNKNOWN, details });
      assert.deepEqual(counts, ['Get not-found']);
    }));

  it('gives the owner it is asked for', () =>
    served({ get: (namespace, name) => podEncoder.got({ ...POD, namespace, name }) }, async ({ ask }) => {
      const { podResources } = await ask(v1.Get, { podNamespace: 'ns', podName: 'p' });
      assert.deepEqual([podResources?.namespace, podResources?.name], ['ns', 'p']);
    }));

  it('refuses a caller over its rate as a kubelet does', () =>
    served(
      {},
      async ({ ask, counts }) => {
        const refused = { code: status.RESOURCE_EXHAUSTED, details: 'rejected by rate limit' };
        await assert.rejects(ask(v1.List, {}), refused);
        await assert.rejects(ask(v1.GetAllocatableResources, {}), refused);
        await assert.rejects(ask(v1alpha1.List, {}), refused);
        assert.equal(counts.filter((line) => line.endsWith('limited')).length, 3);
      },
      () => false,
    ));

  it('refuses an answer that its caller may not be given when it is made', () =>
    served({ allocatable: () => Promise.resolve(Buffer.alloc(MOST_BYTES + 1)) }, async ({ ask, counts }) => {
      const refused = { code: status.RESOURCE_EXHAUSTED, details: 'rejected by rate limit' };
      await assert.rejects(ask(v1.GetAllocatableResources, {}), refused);
      assert.deepEqual(counts, ['GetAllocatableResources limited']);
    }));

  it('ends a call whose backend fails, and takes the next', async () => {
    let fails = true;
    const list = (version: 'v1' | 'v1alpha1'): Buffer => {
      if (fails) throw new Error('no kubelet');
      return podEncoder.listed(version, POD);
    };
    await served({ list }, async ({ ask, counts }) => {
      await assert.rejects(ask(v1.List, {}), { code: status.INTERNAL, details: 'no kubelet' });
      fails = false;
      assert.equal((await ask(v1.List, {})).podResources.length, 1);
      assert.deepEqual(counts, ['List failed', 'List ok']);
    });
  });
});
