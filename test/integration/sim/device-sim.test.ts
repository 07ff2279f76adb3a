import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { devicePluginService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { registrationService as pluginRegistrationService } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';
import { RunningSim } from '../../support/running-sim.js';
import { TestRegistry } from './test-registry.js';

const { GetDevicePluginOptions } = devicePluginService;

describe('a simulated device plugin', () => {
  it('serves, registers with what it was told, reports its devices, and leaves nothing behind', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    let wasServing: boolean | undefined;
    registry.verdict = () => {
      wasServing = existsSync(path.join(dir, 'example.com_gpu.sock'));
      return undefined;
    };
    const sim = new RunningSim(dir, { resource: 'example.com/gpu', devices: 3, numa: 2, unhealthy: 1, preStart: true });
    await sim.saw('registered');
    assert.equal(wasServing, true);
    assert.deepEqual(registry.requests, [
      {
        version: 'v1beta1',
        endpoint: 'example.com_gpu.sock',
        resourceName: 'example.com/gpu',
        options: { preStartRequired: true, getPreferredAllocationAvailable: false },
      },
    ]);
    assert.equal((await registry.ask(sim.socket, GetDevicePluginOptions, {})).preStartRequired, true);
    const stream = registry.watch(sim.socket);
    await eventually('the first list', () => stream.lists.length === 1);
    assert.deepEqual(
      stream.lists[0]?.devices.map(({ id, health, topology }) => [id, health, topology?.nodes[0]?.id]),
      [
        ['dev-0', 'Healthy', 0],
        ['dev-1', 'Healthy', 1],
        ['dev-2', 'Unhealthy', 0],
      ],
    );
    assert.equal(await sim.stop(), 0);
    await eventually('the end of the stream', () => stream.ended);
    await registry.stop();
    assert.deepEqual(readdirSync(dir), []);
  });

  it('says one sentence when its path does not fit a socket address', async () => {
    const sim = new RunningSim(tempDir(), { socketName: 'x'.repeat(120) });
    assert.equal(await sim.ended(), 1);
    assert.match(
      String(sim.of('failed')[0]?.['error']),
      /cannot listen on .* has 13\d bytes, a unix socket address holds 107/,
    );
  });

  it('ends by itself, with a goodbye if it has one', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    const sim = new RunningSim(dir, { exitAfter: 300, exitCode: 7, leave: 'goodbye' });
    await sim.saw('registered');
    const stream = registry.watch(sim.socket);
    assert.equal(await sim.ended(), 7);
    await eventually('the end of the stream', () => stream.ended);
    assert.deepEqual([stream.lists.map(({ devices }) => devices.length), stream.ended?.code], [[2, 0], status.OK]);
    await registry.stop();
  });
});

describe('a simulated device plugin whose registry restarts', () => {
  it('waits for a kubelet socket that is not there yet', async () => {
    const dir = tempDir();
    const sim = new RunningSim(dir, { retry: 60_000 });
    await sim.saw('unreachable');
    const registry = await TestRegistry.start(dir);
    await sim.saw('registered');
    assert.equal(registry.requests.length, 1);
    await sim.stop();
    await registry.stop();
  });

  for (const style of ['create', 'remove'] as const) {
    it(`registers once more, and not more often, when it watches for ${style}`, async () => {
      const dir = tempDir();
      const registry = await TestRegistry.start(dir);
      const sim = new RunningSim(dir, { watch: [style], retry: 50 });
      await sim.saw('registered');
      await registry.serve();
      await sim.saw('registered', 2);
      rmSync(path.join(dir, 'kubelet.sock'));
      await registry.serve();
      await sim.saw('registered', 3);
      assert.equal(registry.requests.length, 3);
      await sim.stop();
      await registry.stop();
    });
  }

  for (const style of ['own-socket', 'poll'] as const) {
    it(`makes its socket again and registers when it notices the loss by ${style}`, async () => {
      const dir = tempDir();
      const registry = await TestRegistry.start(dir);
      const sim = new RunningSim(dir, { watch: [style], pollEvery: 20 });
      await sim.saw('registered');
      rmSync(sim.socket);
      await sim.saw('registered', 2);
      assert.equal(existsSync(sim.socket), true);
      assert.equal((await sim.saw('cue'))['what'], 'own-socket-lost');
      renameSync(sim.socket, path.join(dir, 'aside'));
      await sim.saw('registered', 3);
      await sim.stop();
      await registry.stop();
    });
  }

  it('does nothing when it watches for nothing', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    const deaf = new RunningSim(dir, { watch: ['never'], resource: 'example.com/deaf' });
    const keen = new RunningSim(dir, { resource: 'example.com/keen' });
    await deaf.saw('registered');
    await keen.saw('registered');
    rmSync(deaf.socket);
    await registry.serve();
    await keen.saw('registered', 2);
    assert.equal(deaf.of('registered').length, 1);
    await Promise.all([deaf.stop(), keen.stop()]);
    await registry.stop();
  });

  it('comes back after its directory was removed and made again', async () => {
    const dir = path.join(tempDir(), 'd');
    mkdirSync(dir);
    const first = await TestRegistry.start(dir);
    const sim = new RunningSim(dir, { retry: 100 });
    await sim.saw('registered');
    rmSync(dir, { recursive: true });
    await first.stop();
    mkdirSync(dir);
    const second = await TestRegistry.start(dir);
    await eventually('the new registration', () => second.requests.length > 0 && existsSync(sim.socket));
    await sim.stop();
    await second.stop();
  });

  it('makes a new socket of a new name, or exits, when that is its way', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    const fresh = new RunningSim(dir, { resource: 'example.com/fresh', onCue: 'restart', socketName: 's{n}.sock' });
    const leaving = new RunningSim(dir, { resource: 'example.com/leaving', onCue: 'exit', exitCode: 3 });
    await fresh.saw('registered');
    await leaving.saw('registered');
    await registry.serve();
    assert.equal(await leaving.ended(), 3);
    await fresh.saw('registered', 2);
    const named = registry.requests.filter(({ resourceName }) => resourceName === 'example.com/fresh');
    assert.deepEqual(
      named.map(({ endpoint }) => endpoint),
      ['s1.sock', 's2.sock'],
    );
    await fresh.stop();
    await registry.stop();
  });
});

describe('a simulated device plugin that is refused', () => {
  const refusal = { code: status.RESOURCE_EXHAUSTED, details: 'too often' };

  it('retries, not before the time that RetryInfo names', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    registry.verdict = (nth) => (nth === 1 ? { ...refusal, retryAfterMs: 60_000 } : undefined);
    const sim = new RunningSim(dir, { retry: 10 });
    const { code, details, retryAfterMs } = await sim.saw('refused');
    assert.deepEqual([code, details, retryAfterMs], [8, 'too often', 60_000]);
    await registry.serve();
    await sim.saw('registered');
    assert.equal((await sim.saw('cue'))['what'], 'kubelet-socket-created');
    await sim.stop();
    await registry.stop();
  });

  it('retries after its own pause where there is no RetryInfo', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    registry.verdict = (nth) => (nth < 4 ? refusal : undefined);
    const sim = new RunningSim(dir, { retry: 5 });
    await sim.saw('registered');
    assert.equal(sim.of('refused').length, 3);
    await sim.stop();
    await registry.stop();
  });

  it('exits, or hangs without a socket, when that is its way', async () => {
    const dir = tempDir();
    const registry = await TestRegistry.start(dir);
    registry.verdict = () => refusal;
    assert.equal(await new RunningSim(dir, { onRefused: 'exit' }).ended(), 1);
    const hanging = new RunningSim(dir, { onRefused: 'hang' });
    await hanging.saw('hanging');
    await eventually('no socket', () => !existsSync(hanging.socket));
    assert.equal(await hanging.stop(), 0);
    await registry.stop();
  });
});

describe('a simulated device plugin at the watcher door', () => {
  it('serves both services on one socket and notes how its registration went', async () => {
    const dir = tempDir();
    const registry = new TestRegistry('');
    const sim = new RunningSim(dir, { door: 'watcher', apiVersion: 'v1alpha1,v1beta1' });
    await sim.saw('serving');
    assert.deepEqual(await registry.ask(sim.socket, pluginRegistrationService.GetInfo, {}), {
      type: 'DevicePlugin',
      name: 'example.com/sim',
      endpoint: '',
      supportedVersions: ['v1alpha1', 'v1beta1'],
    });
    await registry.notify(sim.socket);
    assert.equal((await sim.saw('notified'))['registered'], true);
    const stream = registry.watch(sim.socket);
    await eventually('the first list', () => stream.lists.length === 1);
    await sim.stop();
    await registry.stop();
  });

  it('names a service socket of its own', async () => {
    const dir = tempDir();
    const serviceSocket = path.join(dir, 'service.sock');
    const registry = new TestRegistry('');
    const sim = new RunningSim(dir, { door: 'watcher', serviceSocket });
    await sim.saw('serving');
    const { endpoint } = await registry.ask(sim.socket, pluginRegistrationService.GetInfo, {});
    assert.equal(endpoint, serviceSocket);
    await registry.ask(serviceSocket, GetDevicePluginOptions, {});
    await assert.rejects(registry.ask(sim.socket, GetDevicePluginOptions, {}), { code: status.UNIMPLEMENTED });
    await sim.stop();
    await registry.stop();
  });

  it('makes its socket again, exits or hangs after plugin_registered=false', async () => {
    const registry = new TestRegistry('');
    const dir = tempDir();
    const retrying = new RunningSim(dir, { door: 'watcher', retry: 5, resource: 'a.b/retrying' });
    const exiting = new RunningSim(dir, { door: 'watcher', onNotifyFalse: 'exit', resource: 'a.b/exiting' });
    const hanging = new RunningSim(dir, { door: 'watcher', onNotifyFalse: 'hang', resource: 'a.b/hanging' });
    for (const sim of [retrying, exiting, hanging]) {
      await sim.saw('serving');
      await registry.notify(sim.socket, 'no').catch(() => undefined);
    }
    await retrying.saw('serving', 2);
    assert.equal(await exiting.ended(), 1);
    await hanging.saw('hanging');
    await Promise.all([retrying.stop(), hanging.stop()]);
    await registry.stop();
  });

  it('comes with a new socket again and again when it floods', async () => {
    const sim = new RunningSim(tempDir(), { door: 'watcher', registerEvery: 1, registerCount: 5 });
    await sim.saw('serving', 5);
    await sim.stop();
    assert.equal(sim.of('serving').length, 5);
  });
});
