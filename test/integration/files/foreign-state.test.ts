import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
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
  'checkpoint.json.previous',
  'checkpoint.json.previous.tmp',
  'events.jsonl',
  'events.jsonl.tmp',
  'lock',
  'devices',
];
/** Names that count once there was a life before; `devices/SHA256` is the file of a list. */
const LATER_NAMES = ['devices/list.tmp', 'devices/SHA256', 'events.jsonl.tmp', 'checkpoint.json.previous'];
/** At this size the file of events is made small. */
const LONG_BYTES = 5 * 2 ** 20;
const KINDS: Readonly<Record<string, (file: string) => void>> = {
  FIFO: (file) => execFileSync('mkfifo', [file]),
  directory: (file) => mkdirSync(path.join(file, 'full'), { recursive: true }),
  'dangling link': (file) => symlinkSync('/nowhere/at/all', file),
  'device node': (file) => execFileSync('mknod', [file, 'c', '1', '3'], { stdio: 'ignore' }),
};

function skipped(kind: string): false | string {
  try {
    KINDS[kind]?.(path.join(tempDir(), 'one'));
    return false;
  } catch {
    return 'this user may not make one here';
  }
}

void describe('things in state/ that are no files of ours', () => {
  const brokers: BrokerProcess[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    await Promise.all(brokers.map((one) => one.close()));
    await Promise.all(plugins.map((one) => one.stop()));
  });

  for (const [kind, make] of Object.entries(KINDS)) {
    const skip = skipped(kind);
    void it(
      `do not keep the broker from starting, writing and ending: a ${kind} under each name`,
      { skip },
      async () => {
        const one = new BrokerProcess(tempDir());
        brokers.push(one);
        const state = path.join(one.root, 'state');
        mkdirSync(state, { mode: 0o700 });
        for (const name of NAMES) if (!(kind === 'directory' && name === 'devices')) make(path.join(state, name));
        await one.start();
        await registers(one);
        await eventually('the list is on the disk', () => readdirSync(path.join(state, 'devices')).length === 1);
        await eventually('the checkpoint names it', () =>
          readFileSync(path.join(state, 'checkpoint.json'), 'utf8').includes(
            readdirSync(path.join(state, 'devices'))[0]!,
          ),
        );
        assert.equal(lstatSync(path.join(state, 'lock')).isSocket(), true);
        assert.equal(await one.end('SIGTERM'), 0);
        assert.match(readFileSync(path.join(state, 'events.jsonl'), 'utf8'), /example\.com\/a/);
      },
    );

    void it(`are replaced by the files of the next life: a ${kind} in the place of files`, { skip }, async () => {
      const one = new BrokerProcess(tempDir());
      brokers.push(one);
      await one.start();
      await registers(one);
      await one.onDisk('example.com/a');
      await one.end('SIGKILL');
      const state = path.join(one.root, 'state');
      const [sha256 = ''] = readdirSync(path.join(state, 'devices'));
      assert.match(sha256, /^[0-9a-f]{64}$/);
      const { size } = statSync(path.join(state, 'devices', sha256));
      const files = LATER_NAMES.map((name) => path.join(state, name.replace('SHA256', sha256)));
      for (const file of files) {
        rmSync(file, { force: true });
        make(file);
      }
      truncateSync(path.join(state, 'events.jsonl'), LONG_BYTES);
      await one.start();
      // Its list was lost with the file: it is known again when the plugin, which is confirmed before that, has sent it.
      await eventually('the plugin sent its list', async () => (await one.allocatable('example.com/a')) === 200);
      const list = path.join(state, 'devices', sha256);
      await eventually('the list is on the disk again', () => lstatSync(list).isFile() && statSync(list).size === size);
      const events = path.join(state, 'events.jsonl');
      await registers(one, 'b'); // something to tell
      await eventually('the file of events is made small', () => statSync(events).size < LONG_BYTES);
      assert.equal(await one.end('SIGTERM'), 0);
      for (const name of ['checkpoint.json', 'checkpoint.json.previous', 'events.jsonl']) {
        assert.ok(lstatSync(path.join(state, name)).isFile(), `${name} is a file`);
      }
    });
  }

  /** A plugin whose list is a file. */
  async function registers(one: BrokerProcess, name = 'a'): Promise<void> {
    const plugin = await FakePlugin.start({
      socket: path.join(one.devicePlugins, `${name}.sock`),
      resource: `example.com/${name}`,
      devices: Array.from({ length: 200 }, (_, at) => ({ id: `device-${String(at)}`, health: 'Healthy' })),
    });
    plugins.push(plugin);
    await plugin.register(one.kubeletSocket);
  }

  function readBytes(one: BrokerProcess): number {
    const [, bytes = ''] = /^rchar: (\d+)$/m.exec(readFileSync(`/proc/${String(one.pid)}/io`, 'utf8')) ?? [];
    return Number(bytes);
  }

  void it('cost nothing by their size: events.jsonl of 300 MB', async () => {
    const one = new BrokerProcess(tempDir());
    brokers.push(one);
    await one.start();
    const usual = readBytes(one);
    await one.end('SIGTERM');
    const events = path.join(one.root, 'state', 'events.jsonl');
    const line = `${readFileSync(events, 'utf8').split('\n')[1] ?? ''}\n`;
    truncateSync(events, 284 * 2 ** 20);
    appendFileSync(events, line.repeat(Math.ceil((16 * 2 ** 20) / line.length)));
    await one.start();
    await registers(one); // something to tell
    await eventually('its end was read, and it is made small', () => statSync(events).size < 16 * 2 ** 20);
    const [, peak = ''] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(one.pid)}/status`, 'utf8')) ?? [];
    assert.ok(Number(peak) < 220 * 1024, `${peak} kB at most`);
    // Bytes instead of milliseconds: they take the time, on any machine.
    const read = readBytes(one) - usual;
    assert.ok(read > 2 ** 20 && read < 24 * 2 ** 20, `${String(read)} bytes were read`);
    await one.end('SIGTERM');
  });
});
