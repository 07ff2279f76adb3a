import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { draPluginService } from '../../../src/generated/proto/dra/v1/dra.js';
import { draPluginService as draPluginV1beta1Service } from '../../../src/generated/proto/dra/v1beta1/dra.js';
import type { DraSimOptions } from '../../../src/sim/dra/options.js';
import { runDraSim } from '../../../src/sim/dra/run-dra-sim.js';
import { RunningDriver } from '../../support/running-driver.js';
import { tempDir } from '../../support/temp-dir.js';
import { callRegistrar } from '../registrar/rig.js';
import { draSimOptions } from '../../support/sim-options.js';

const DRIVER = 'dra.sim.example.com';

describe('a simulated DRA driver', () => {
  let folder: string;
  let drivers: RunningDriver[];

  beforeEach(() => {
    folder = tempDir();
    drivers = [];
  });
  afterEach(() => Promise.all(drivers.map((driver) => driver.stop())));

  async function start(given: Partial<DraSimOptions> = {}): Promise<RunningDriver> {
    const options = draSimOptions({ plugins: folder, registry: folder, ...given });
    const driver = new RunningDriver((signal, around) => runDraSim(options, signal, around));
    drivers.push(driver);
    await driver.saw('serving', 2);
    return driver;
  }

  it('registers with its services, and serves them', async () => {
    const driver = await start();
    const socket = path.join(folder, DRIVER, 'dra.sock');
    assert.deepEqual(await callRegistrar(path.join(folder, `${DRIVER}-reg.sock`), 'GetInfo'), {
      type: 'DRAPlugin',
      name: DRIVER,
      endpoint: socket,
      supportedVersions: ['v1.DRAPlugin', 'v1beta1.DRAPlugin'],
    });
    for (const service of [draPluginService, draPluginV1beta1Service]) {
      const { claims } = await prepare(socket, service.NodePrepareResources);
      assert.deepEqual([...claims.keys()], ['uid-1']);
    }
    assert.equal(await driver.stop(), 0);
    assert.equal(existsSync(socket), false);
  });

  it('has sockets of its own for each instance of a rolling update', async () => {
    await start({ instance: 'old' });
    await start({ instance: 'new', services: 'v1beta1.DRAPlugin', serve: ['v1beta1'] });
    for (const name of [`${DRIVER}-old-reg.sock`, `${DRIVER}-new-reg.sock`, `${DRIVER}/dra-old.sock`]) {
      assert.equal(existsSync(path.join(folder, name)), true, name);
    }
    const socket = path.join(folder, DRIVER, 'dra-new.sock');
    await assert.rejects(prepare(socket, draPluginService.NodePrepareResources), { code: status.UNIMPLEMENTED });
  });

  it('answers a refusal with an error, as the helper library does', async () => {
    await start();
    const refused = { pluginRegistered: false, error: 'no such service' };
    await assert.rejects(callRegistrar(path.join(folder, `${DRIVER}-reg.sock`), 'NotifyRegistrationStatus', refused), {
      details: 'registration failed: no such service',
    });
  });
});

/** Of either version; they differ in one field of the answer. */
type Prepare = Omit<(typeof draPluginService)['NodePrepareResources'], 'responseDeserialize'> & {
  readonly responseDeserialize: (bytes: Buffer) => Prepared;
};
interface Prepared {
  readonly claims: ReadonlyMap<string, object>;
}

function prepare(socket: string, { path: method, requestSerialize, responseDeserialize }: Prepare): Promise<Prepared> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  return new Promise<Prepared>((resolve, reject) => {
    const request = { claims: [{ namespace: 'default', uid: 'uid-1', name: 'claim' }] };
    const answered = (failure: ServiceError | null, answer?: Prepared): void => {
      if (answer === undefined) reject(failure ?? new Error('no answer'));
      else resolve(answer);
    };
    client.makeUnaryRequest(method, requestSerialize, responseDeserialize, request, answered);
  }).finally(() => client.close());
}
