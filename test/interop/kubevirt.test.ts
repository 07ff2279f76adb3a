import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Child, type Program } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { Broker } from './support/broker.js';
import { buildGo } from './support/programs.js';
import { missing } from './support/tools.js';

const RESOURCE = 'devices.kubevirt.io/kvm';
const DEVICES = 3;
const RESTARTS = 10;

describe('a plugin that behaves as KubeVirt does', { skip: missing('go') }, () => {
  let program: Program;
  let broker: Broker;
  let plugin: Child;
  before(() => {
    program = buildGo().kubevirt;
  });
  beforeEach(async () => {
    broker = await Broker.start();
    plugin = new Child(program, ['--dir', broker.devicePlugins, '--devices', String(DEVICES)]);
    await plugin.says('registered');
  });
  afterEach(async () => {
    await plugin.stop();
  });
  after(async () => {
    await broker.stop();
  });

  const times = (line: string): number => plugin.lines.filter((said) => said === line).length;
  const allocatable = (what: string, count: number): Promise<unknown> =>
    broker.resource(RESOURCE, what, (found) => found.state === 'ready' && found.allocatable === count);
  const healthIsFollowed = async (): Promise<void> => {
    plugin.signal('SIGUSR1');
    await allocatable('a device that is sick is seen', DEVICES - 1);
    plugin.signal('SIGUSR1');
    await allocatable('and one that is well again', DEVICES);
  };

  const next = (...flags: string[]): Promise<Broker> => Broker.start('', broker.root, flags);
  for (const [what, again] of [
    ['kill -9', (): Promise<Broker> => broker.kill().then(() => next())],
    [
      'SIGTERM',
      async (): Promise<Broker> => {
        assert.equal(await broker.stop(), 0);
        return next();
      },
    ],
    [
      'serve --takeover',
      async (): Promise<Broker> => {
        const successor = await next('--takeover');
        assert.equal(await broker.ended(), 0);
        return successor;
      },
    ],
  ] as const) {
    it(`is served, and its health followed, after each of ten restarts of the broker by ${what}`, async () => {
      await healthIsFollowed();
      for (let restart = 1; restart <= RESTARTS; restart += 1) {
        broker = await again();
        await eventually('it noticed that its socket was removed, and registered', () => times('registered') > restart);
        await allocatable('served', DEVICES);
        await healthIsFollowed();
      }
      assert.doesNotMatch(plugin.story, /panic|refused/);
      assert.equal(times('registered'), RESTARTS + 1, 'it registered once after each');
      await broker.stop();
    });
  }

  it('does not mind when kubelet.sock is made anew ten times', async () => {
    for (let at = 0; at < RESTARTS; at += 1) {
      await eventually('kubelet.sock is there', () => existsSync(broker.kubeletSocket), { withinMs: 30_000 });
      rmSync(broker.kubeletSocket);
      await healthIsFollowed();
    }
    assert.equal(times('registered'), 1, plugin.story);
    await broker.stop();
  });
});
