import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Child } from '../support/child.js';
import { distFile } from '../support/dist.js';
import { Broker } from './support/broker.js';
import { buildGo, python } from './support/programs.js';
import { missing } from './support/tools.js';

const GPU = 'example.com/gpu';

describe('devices of a broker', { skip: missing('python', 'go') }, () => {
  let broker: Broker;
  let sim: Child;
  before(async () => {
    broker = await Broker.start('cdi: {dir: cdi}\n');
    const options = ['--resource', GPU, '--devices', '1', '--numa', '1', '--dir', broker.devicePlugins];
    sim = new Child({ command: process.execPath, args: [distFile(), 'sim', 'device'], env: {} }, options);
    await broker.resource(GPU, 'its device', ({ allocatable }) => allocatable === 1);
  });
  after(async () => {
    await sim.stop();
    assert.equal(await broker.stop(), 0);
  });
  const alloc = (): string => path.join(broker.root, 'alloc.sock');
  const podResources = (): string => path.join(broker.root, 'pod-resources', 'kubelet.sock');

  it('are given to a Python program that speaks the allocator, and are free again when it is killed', async () => {
    const client = python('allocator.py');
    const owner = new Child(client, ['--socket', alloc(), '--resource', GPU]);
    await owner.says('event');
    assert.match(owner.lines[0] ?? '', /^allocated [0-9a-z]{26} dev-0 dev-0$/);
    const second = new Child(client, ['--socket', alloc(), '--resource', GPU]);
    assert.equal(await second.end(), 0);
    assert.match(second.lines[0] ?? '', /^refused RESOURCE_EXHAUSTED NO_DEVICES: /);
    owner.signal('SIGKILL');
    const next = new Child(client, ['--socket', alloc(), '--resource', GPU, '--wait-ms', '10000']);
    await next.says('allocated');
    await next.stop();
  });

  it('are given to a command by run, and are free again when run is killed', async () => {
    const args = ['run', '--root', broker.root, '--device', GPU, '--wait', '10s', '--'];
    const program = { command: process.execPath, args: [distFile(), ...args], env: {} };
    const owner = new Child(program, ['sh', '-c', 'echo has $SIM_DEVICES; exec sleep 600']);
    await owner.says('has dev-0');
    owner.signal('SIGKILL');
    const next = new Child(program, ['sh', '-c', 'echo has $SIM_DEVICES']);
    assert.equal(await next.end(), 0, next.story);
    assert.deepEqual(next.lines, ['has dev-0']);
  });

  it('are shown with their owner to PodResources clients of grpcio and of an old grpc-go that dials a bare path', async () => {
    const args = ['run', '--root', broker.root, '--device', GPU, '--wait', '10s', '--owner', 'ci/job-7/main', '--'];
    const owner = new Child({ command: process.execPath, args: [distFile(), ...args], env: {} }, [
      'sh',
      '-c',
      'echo up; exec sleep 600',
    ]);
    await owner.says('up');
    const reader = new Child(python('lister.py'), ['--socket', podResources()]);
    assert.equal(await reader.end(), 0, reader.story);
    assert.deepEqual(reader.lines, [
      `v1 ${GPU} dev-0 numa=0`,
      'got True',
      `v1alpha1 ${GPU} dev-0`,
      'allocatable dev-0',
    ]);
    const goReader = new Child(buildGo().podresources, ['--socket', podResources()]);
    assert.equal(await goReader.end(), 0, goReader.story);
    assert.deepEqual(goReader.lines, [
      `v1 ${GPU} dev-0`,
      'allocatable dev-0',
      'get rpc error: code = Unknown desc = pod nobody in namespace none not found',
    ]);
    await owner.stop();
  });
});
