import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const NAMES = [
  'checkpoint.json',
  'checkpoint.json.tmp',
  'checkpoint.json.previous.tmp',
  'events.jsonl',
  'lock',
  'devices',
];
const KINDS: Readonly<Record<string, (file: string) => void>> = {
  FIFO: (file) => execFileSync('mkfifo', [file]),
  directory: (file) => mkdirSync(path.join(file, 'full'), { recursive: true }),
  'dangling link': (file) => symlinkSync('/nowhere/at/all', file),
};

void describe('things in state/ that are no files of ours', () => {
  const brokers: BrokerProcess[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    await Promise.all(brokers.map((one) => one.close()));
    await Promise.all(plugins.map((one) => one.stop()));
  });

  for (const [kind, make] of Object.entries(KINDS)) {
    void it(`do not keep the broker from starting, writing and ending: a ${kind} under each name`, async () => {
      const one = new BrokerProcess(tempDir());
      brokers.push(one);
      const state = path.join(one.root, 'state');
      mkdirSync(state, { mode: 0o700 });
      for (const name of NAMES) if (!(kind === 'directory' && name === 'devices')) make(path.join(state, name));
      await one.start();
      const plugin = await FakePlugin.start({
        socket: path.join(one.devicePlugins, 'a.sock'),
        resource: 'example.com/a',
        devices: Array.from({ length: 200 }, (_, at) => ({ id: `device-${String(at)}`, health: 'Healthy' })),
      });
      plugins.push(plugin);
      await plugin.register(one.kubeletSocket);
      await eventually('the list is on the disk', () => readdirSync(path.join(state, 'devices')).length === 1);
      await eventually('the checkpoint names it', () =>
        readFileSync(path.join(state, 'checkpoint.json'), 'utf8').includes(
          readdirSync(path.join(state, 'devices'))[0]!,
        ),
      );
      assert.equal(lstatSync(path.join(state, 'lock')).isSocket(), true);
      assert.equal(await one.end('SIGTERM'), 0);
      assert.match(readFileSync(path.join(state, 'events.jsonl'), 'utf8'), /example\.com\/a/);
    });
  }

  void it('cost nothing by their size: events.jsonl of 300 MB', async () => {
    const one = new BrokerProcess(tempDir());
    brokers.push(one);
    await one.start();
    await one.end('SIGTERM');
    const events = path.join(one.root, 'state', 'events.jsonl');
    const line = `${readFileSync(events, 'utf8').split('\n')[1] ?? ''}\n`;
    truncateSync(events, 284 * 2 ** 20);
    appendFileSync(events, line.repeat(Math.ceil((16 * 2 ** 20) / line.length)));
    await one.start();
    const plugin = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'b.sock'),
      resource: 'example.com/b',
    });
    plugins.push(plugin);
    await plugin.register(one.kubeletSocket); // something to tell
    await eventually('its end was read, and it is made small', () => statSync(events).size < 16 * 2 ** 20);
    const [, peak = ''] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(one.pid)}/status`, 'utf8')) ?? [];
    assert.ok(Number(peak) < 220 * 1024, `${peak} kB at most`);
    await one.end('SIGTERM');
  });
});
