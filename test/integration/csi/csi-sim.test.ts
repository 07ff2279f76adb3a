import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import {
  identityService,
  nodeService,
  GetPluginInfoResponse,
  NodeGetInfoResponse,
  ProbeResponse,
} from '../../../src/generated/proto/csi/v1/csi.js';
import { CSI_SIM_OPTIONS, type CsiSimOptions } from '../../../src/sim/csi/options.js';
import { runCsiSim } from '../../../src/sim/csi/run-csi-sim.js';
import { parseFault } from '../../support/csi-faults.js';
import { RunningDriver } from '../../support/running-driver.js';
import { tempDir } from '../../support/temp-dir.js';
import { callRegistrar } from '../registrar/rig.js';
import { csiSimOptions } from '../../support/sim-options.js';

describe('a simulated CSI driver', () => {
  let folder: string;
  let drivers: RunningDriver[];
  let socket: string;
  let registration: string;

  beforeEach(() => {
    folder = tempDir();
    drivers = [];
    socket = path.join(folder, 'csi.sim.example.com', 'csi.sock');
    registration = path.join(folder, 'csi.sim.example.com-reg.sock');
  });
  afterEach(() => Promise.all(drivers.map((driver) => driver.stop())));

  function start(given: Partial<CsiSimOptions> = {}): RunningDriver {
    const options = csiSimOptions({ plugins: folder, registry: folder, ...given });
    const driver = new RunningDriver((signal, around) => runCsiSim(options, signal, around));
    drivers.push(driver);
    return driver;
  }

  it('names itself and its facts about the node', async () => {
    const driver = start({
      nodeIdBytes: 10,
      maxVolumes: '9223372036854775807',
      topology: { zone: 'a' },
      notReady: true,
    });
    await driver.saw('serving');
    const info = GetPluginInfoResponse.decode(await call(socket, identityService.GetPluginInfo.path));
    assert.deepEqual([info.name, info.vendorVersion], ['csi.sim.example.com', '1.0.0-sim']);
    const node = NodeGetInfoResponse.decode(await call(socket, nodeService.NodeGetInfo.path));
    assert.deepEqual(node, {
      nodeId: 'sim-node..',
      maxVolumesPerNode: 9_223_372_036_854_775_807n,
      accessibleTopology: { segments: new Map([['zone', 'a']]) },
    });
    const probe = ProbeResponse.decode(await call(socket, identityService.Probe.path));
    assert.equal(probe.ready?.value, false);
    assert.equal(driver.of('called').length, 3);
    assert.equal(await driver.stop(), 0);
    assert.equal(existsSync(socket), false);
  });

  it('leaves registering to a registrar, or does it itself', async () => {
    await start().saw('serving');
    assert.equal(existsSync(registration), false);
    const driver = start({ register: true, apiVersion: '0.3.0,1.1.0', endpoint: '/elsewhere' });
    await driver.saw('serving', 2);
    assert.deepEqual(await callRegistrar(registration, 'GetInfo'), {
      type: 'CSIPlugin',
      name: 'csi.sim.example.com',
      endpoint: '/elsewhere',
      supportedVersions: ['0.3.0', '1.1.0'],
    });
    await callRegistrar(registration, 'NotifyRegistrationStatus', { pluginRegistered: false, error: 'no' });
    assert.equal((await driver.saw('notified'))['error'], 'no');
  });

  it('ends when it is refused, if it is told to', async () => {
    const driver = start({ register: true, onNotifyFalse: 'exit' });
    await driver.saw('serving', 2);
    await callRegistrar(registration, 'NotifyRegistrationStatus', { pluginRegistered: false, error: 'no' });
    assert.equal(await driver.ended(), 1);
  });

  it('misbehaves as it is told', async () => {
    const driver = start({ fault: parseFault('NodeGetInfo=status:INTERNAL:broken@1', []) });
    await driver.saw('serving');
    await assert.rejects(call(socket, nodeService.NodeGetInfo.path), { code: status.INTERNAL, details: 'broken' });
    assert.equal(NodeGetInfoResponse.decode(await call(socket, nodeService.NodeGetInfo.path)).nodeId, 'sim-node');
  });

  it('loses its service socket and makes it anew', async () => {
    const driver = start({ crashEvery: 50 });
    await driver.saw('service-lost', 2);
    await driver.saw('serving', 3);
    assert.equal(existsSync(socket), true);
  });

  it('serves late, and ends by itself, leaving everything behind when it is killed', async () => {
    const driver = start({ serveDelay: 30, register: true, exitAfter: 120, exitCode: 3, leave: 'abrupt' });
    await driver.saw('serving', 2);
    assert.deepEqual(
      driver.of('serving').map((line) => line['socket']),
      [registration, socket],
    );
    await driver.ended();
    assert.deepEqual(driver.deaths, [3]);
  });

  it('says why it cannot serve', async () => {
    const driver = start({ socket: path.join(folder, 'x'.repeat(120)) });
    assert.equal(await driver.ended(), 1);
    assert.match(String((await driver.saw('failed'))['error']), /a unix socket address holds 107/);
  });

  it('has an option for everything it can be told', () => {
    const keys = CSI_SIM_OPTIONS.map(({ key }) => key);
    assert.equal(new Set(keys).size, keys.length);
    const parse = (key: string, text: string): unknown =>
      CSI_SIM_OPTIONS.find((one) => one.key === key)?.parse?.(text, {});
    assert.deepEqual(parse('topology', 'a/b=c=d'), { 'a/b': 'c=d' });
    assert.throws(() => parse('topology', 'x'), /KEY=VALUE/);
    assert.throws(() => parse('maxVolumes', 'x'), /64-bit/);
  });
});

function call(socket: string, method: string): Promise<Buffer> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  return new Promise<Buffer>((resolve, reject) => {
    const answered = (failure: ServiceError | null, answer?: Buffer): void => {
      if (answer === undefined) reject(failure ?? new Error('no answer'));
      else resolve(answer);
    };
    client.makeUnaryRequest(
      method,
      (bytes: Buffer) => bytes,
      (bytes) => bytes,
      Buffer.alloc(0),
      answered,
    );
  }).finally(() => client.close());
}
