import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { Child, type Program } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { Broker } from './support/broker.js';
import { buildGo, python } from './support/programs.js';
import { missing } from './support/tools.js';

const DEVICES = 3;
const LANGUAGES = [
  { language: 'go', make: (): Program => buildGo().plugin },
  { language: 'python', make: (): Program => python('plugin.py') },
] as const;

for (const { language, make } of LANGUAGES) {
  describe(`a ${language} plugin and a broker that comes and goes`, { skip: missing(language) }, () => {
    const resource = `example.com/${language}`;
    const endpoint = `${language}.sock`;
    let program: Program;
    let broker: Broker;
    let plugins: Child[];
    before(() => {
      program = make();
    });
    beforeEach(async () => {
      plugins = [];
      broker = await Broker.start();
    });
    afterEach(async () => {
      for (const plugin of plugins) await plugin.stop();
      await broker.stop();
    });

    const startPlugin = async (...flags: readonly string[]): Promise<Child> => {
      const where = ['--dir', broker.devicePlugins, '--endpoint', endpoint, '--resource', resource];
      const plugin = new Child(program, [...where, '--devices', String(DEVICES), ...flags]);
      plugins.push(plugin);
      await plugin.says('registered');
      return plugin;
    };
    const isServed = (): Promise<unknown> =>
      broker.resource(
        resource,
        'served by a confirmed plugin',
        ({ state, allocatable }) => state === 'ready' && allocatable === DEVICES,
      );
    const times = (plugin: Child, line: string): number => plugin.lines.filter((said) => said === line).length;

    it('is served again after kill -9 of the broker without doing anything', async () => {
      const plugin = await startPlugin();
      await isServed();
      await broker.kill();
      broker = await Broker.start('', broker.root);
      await isServed();
      assert.equal(times(plugin, 'registered'), 1);

      plugin.signal('SIGUSR1');
      await broker.resource(resource, 'its health is followed', ({ allocatable }) => allocatable === DEVICES - 1);
    });

    it('that watches kubelet.sock registers once after a restart of the broker', async () => {
      const plugin = await startPlugin('--watch');
      await isServed();
      assert.equal(await broker.stop(), 0);
      broker = await Broker.start('', broker.root);
      await eventually('it registered again', () => times(plugin, 'registered') === 2);
      await isServed();
      assert.equal(times(plugin, 'registered'), 2, plugin.story);
    });

    it('that lost its socket comes back with a new one of the same name', async () => {
      const plugin = await startPlugin('--watch');
      await isServed();
      rmSync(path.join(broker.devicePlugins, endpoint));
      await eventually('it registered again', () => times(plugin, 'registered') === 2);
      await isServed();
    });

    it('that was killed is replaced by its successor at the same path', async () => {
      const first = await startPlugin();
      await isServed();
      first.signal('SIGKILL');
      await first.end();
      await broker.resource(resource, 'held', ({ state }) => state === 'held');
      await startPlugin();
      await isServed();
    });

    it('with a hundred thousand devices is taken in whole', async () => {
      await startPlugin('--devices', '100000');
      await broker.resource(resource, 'all devices', ({ allocatable }) => allocatable === 100_000);
    });
  });
}
