import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { podResourcesListerService } from '../../../src/generated/proto/podresources/v1/podresources.js';
import type { WireMethod } from '../../../src/platform/wire/method.js';
import type { Decoded, Fields, Given } from '../../../src/platform/wire/table.js';
import { eventually } from '../../support/eventually.js';
import { FakeLeases, lease } from '../../support/leases.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';
import { RunningSim } from '../../support/running-sim.js';

const { List, Get, GetAllocatableResources } = podResourcesListerService;

/** Asks as a Go client does that dials a bare path: its `:authority` is the path. */
function ask<Q extends Fields, A extends Fields>(
  socket: string,
  method: WireMethod<Q, A>,
  request: Given<Q>,
): Promise<Decoded<A>> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.default_authority': socket });
  return new Promise<Decoded<A>>((resolve, reject) => {
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
  }).finally(() => client.close());
}

describe('PodResources of a broker', () => {
  it('shows healthy devices and who has which of them, and changes with the leases', async () => {
    const root = tempDir();
    const bed = await startTestBroker(root);
    const leases = new FakeLeases();
    await bed.broker.servePodResources(leases);
    const socket = path.join(root, 'pod-resources', 'kubelet.sock');
    assert.equal(statSync(path.dirname(socket)).mode & 0o777, 0o750);
    const sim = new RunningSim(path.join(root, 'device-plugins'), {
      resource: 'example.com/gpu',
      devices: 3,
      numa: 2,
      unhealthy: 1,
    });
    await eventually('the devices', () => bed.counts('example.com/gpu')?.allocatable === 2);
    assert.deepEqual(
      (await ask(socket, GetAllocatableResources, {})).devices.map(({ deviceIds, topology }) => [
        deviceIds[0],
        topology?.nodes[0]?.id,
      ]),
      [
        ['dev-0', 0],
        ['dev-1', 1],
      ],
    );
    assert.deepEqual((await ask(socket, List, {})).podResources, []);
    leases.set(
      lease({ owner: { namespace: 'systemd', name: 'train.service' }, devices: { 'example.com/gpu': ['dev-1@1'] } }),
    );
    const { podResources } = await ask(socket, List, {});
    assert.equal(podResources[0]?.containers[0]?.devices[0]?.deviceIds[0], 'dev-1');
    const got = await ask(socket, Get, { podNamespace: 'systemd', podName: 'train.service' });
    assert.deepEqual(got.podResources, podResources[0]);
    leases.set();
    await assert.rejects(ask(socket, Get, { podNamespace: 'systemd', podName: 'train.service' }), {
      code: status.UNKNOWN,
    });
    await sim.stop();
    await bed.stop();
  });

  it('ends with the broker though a client keeps its connection open, as agents that watch a node do', async () => {
    const bed = await startTestBroker(tempDir());
    await bed.broker.servePodResources(new FakeLeases());
    const socket = connect(path.join(bed.settings.paths.podResources, 'kubelet.sock'));
    await once(socket, 'connect');
    // The preface and empty SETTINGS: it speaks, and has no call under way.
    socket.write(
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from('000000040000000000', 'hex')]),
    );
    await once(socket, 'data');
    const hungUp = once(socket.resume(), 'close');
    const stopped = bed.broker.stop(() => 60_000).then(() => 'stopped');
    assert.equal(await Promise.race([stopped, pause(5_000, 'still waiting', { ref: false })]), 'stopped');
    await hungUp;
    await bed.stop();
  });

  it('is not there when it is switched off', async () => {
    const root = tempDir();
    const bed = await startTestBroker(root, (settings) => ({
      ...settings,
      podResources: { ...settings.podResources, enabled: false },
    }));
    await bed.broker.servePodResources(new FakeLeases());
    assert.equal(existsSync(path.join(root, 'pod-resources')), false);
    await bed.stop();
  });

  it('does not stop the broker when its directory cannot be made, and says what is wrong', async () => {
    const root = tempDir();
    mkdirSync(root, { recursive: true });
    writeFileSync(path.join(root, 'pod-resources'), 'in the way');
    const told: (readonly [string, string | undefined])[] = [];
    const bed = await startTestBroker(root, undefined, { degraded: (what, why) => told.push([what, why]) });
    await bed.broker.servePodResources(new FakeLeases());
    const [, why] = told.find(([what]) => what === 'pod-resources') ?? [];
    assert.match(why ?? '', /the owners of devices cannot be read \(PodResources\)/);
    await bed.stop();
  });
});
