import assert from 'node:assert/strict';
import { linkSync, mkdirSync, renameSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, FakeStatus, type FakePluginOptions } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';

void describe('a registration socket with two names', async () => {
  const root = tempDir();
  const registry = path.join(root, 'plugins_registry');
  mkdirSync(registry, { recursive: true });
  const plugins: FakePlugin[] = [];
  const broker = await startTestBroker(root, (settings) => ({
    ...settings,
    discovery: { ...settings.discovery, retryFirstMs: 20, retryMaxMs: 40 },
  }));
  after(async () => {
    await broker.stop();
    await Promise.all(plugins.map((one) => one.stop()));
  });
  const start = async (options: FakePluginOptions): Promise<FakePlugin> => {
    const one = await FakePlugin.start({ door: 'watcher', ...options });
    plugins.push(one);
    return one;
  };
  const at = (name: string): string => path.join(registry, name);
  let marks = 0;
  /** Waits until everything that was done in the directory has been looked at. */
  const looked = async (): Promise<void> => {
    marks += 1;
    const name = `mark-${String(marks)}`;
    const mark = await start({ socket: at(`${name}.sock`), resource: `example.com/${name}` });
    await eventually('a later socket is in', () => mark.notified.length === 1);
  };
  const pending = (): number => broker.broker.core.reconciler.size;

  void it('is asked no more once both have gone, the first one first', async () => {
    let isReady = false;
    const one = await start({
      socket: at('a.sock'),
      resource: 'example.com/ghost',
      hook: (method) => {
        if (method === 'GetInfo' && !isReady) throw new FakeStatus(14, 'not yet');
      },
    });
    await eventually('asked', () => one.count('GetInfo') > 0);
    linkSync(at('a.sock'), at('b.sock'));
    await looked();
    unlinkSync(at('a.sock'));
    await looked();
    unlinkSync(at('b.sock'));
    await eventually('no registration is pending', () => pending() === 0);
    isReady = true;
    await looked();
    await eventually('that of the later socket neither', () => pending() === 0);
    assert.deepEqual([one.notified, broker.counts('example.com/ghost')], [[], undefined]);
  });

  void it('comes in by the name that remains when it is published by a link before it answers', async () => {
    let answer = (): void => undefined;
    const ready = new Promise<void>((resolve) => (answer = resolve));
    const one = await start({
      socket: at('tmp.sock'),
      resource: 'example.com/published',
      info: { endpoint: '' },
      hook: (method) => (method === 'GetInfo' ? ready : undefined),
    });
    await eventually('asked', () => one.count('GetInfo') > 0);
    linkSync(at('tmp.sock'), at('final.sock'));
    await looked();
    unlinkSync(at('tmp.sock'));
    await looked();
    answer();
    await eventually('told', () => one.notified.length > 0);
    assert.deepEqual(one.notified, ['']);
    const found = broker.plugins().find(({ name }) => name === 'example.com/published');
    assert.deepEqual([found?.state, found?.socket], ['ready', at('final.sock')]);
    unlinkSync(at('final.sock'));
    const state = (): string | undefined =>
      broker.plugins().find(({ name }) => name === 'example.com/published')?.state;
    await eventually('held', () => state() === 'held');
  });

  void it('comes in by the name that its directory has now', async () => {
    mkdirSync(at('before'));
    let answer = (): void => undefined;
    const ready = new Promise<void>((resolve) => (answer = resolve));
    const one = await start({
      socket: at('before/x.sock'),
      resource: 'example.com/moved',
      info: { endpoint: '' },
      hook: (method) => (method === 'GetInfo' ? ready : undefined),
    });
    await eventually('asked', () => one.count('GetInfo') > 0);
    renameSync(at('before'), at('after'));
    await looked();
    answer();
    await eventually('told', () => one.notified.length > 0);
    assert.deepEqual(one.notified, ['']);
  });
});
