import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54321;
const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'SKIPPED: only root can start a plugin as another user';

void describe('who may register', () => {
  const children: ChildProcess[] = [];
  const brokers: BrokerProcess[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(brokers.map((one) => one.close()));
    await Promise.all(plugins.map((one) => one.stop()));
  });

  async function broker(config: object): Promise<BrokerProcess> {
    const one = new BrokerProcess(tempDir(), config);
    brokers.push(one);
    await one.start();
    chmodSync(one.root, 0o755);
    chmodSync(one.devicePlugins, 0o777);
    chmodSync(one.kubeletSocket, 0o777);
    return one;
  }

  async function asOther(one: BrokerProcess, name: string): Promise<string> {
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-plugin.js');
    const socket = path.join(one.devicePlugins, `${name}.sock`);
    const argv = [file, String(OTHER_UID), socket, one.kubeletSocket, `example.com/${name}`];
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return line.toString();
  }

  void it('takes a plugin of another user, and says whose it is', { skip }, async () => {
    const one = await broker({});
    assert.equal(await asOther(one, 'foreign'), 'registered\n');
    const [view] = await one.plugins();
    assert.equal(view?.uid, OTHER_UID);
    assert.notEqual(view.pid, -1);
  });

  void it('refuses a foreign uid by a rule with uids, with the reason', { skip }, async () => {
    const one = await broker({ rules: [{ match: { name: 'example.com/ours*' }, uids: [0] }] });
    assert.match(await asOther(one, 'ours'), /PERMISSION_DENIED: CALLER_NOT_ALLOWED: .*uid 54321.*its rule allows 0/);
    const mine = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'mine.sock'),
      resource: 'example.com/ours-2',
    });
    plugins.push(mine);
    await mine.register(one.kubeletSocket);
    const events = await one.admin.explain('example.com/ours', '');
    assert.match(events.why, /uid/i);
  });

  void it('refuses everybody whom admission.allowUids does not name', { skip }, async () => {
    const one = await broker({ admission: { allowUids: [0] } });
    assert.match(await asOther(one, 'anybody'), /CALLER_NOT_ALLOWED: .*admission\.allowUids/);
  });

  void it('refuses a caller who names a socket on which another user listens', { skip }, async () => {
    const one = await broker({});
    assert.equal(await asOther(one, 'theirs'), 'registered\n');
    const thief = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'thief.sock'),
      resource: 'example.com/theft',
    });
    plugins.push(thief);
    const theft = thief.register(one.kubeletSocket, { endpoint: 'theirs.sock', resourceName: 'example.com/theft' });
    await assert.rejects(theft, /ENDPOINT_CLAIMED|CALLER_NOT_LISTENER/);
    await eventually('the owner serves on', async () => (await one.allocatable('example.com/theirs')) === 2);
  });
});
