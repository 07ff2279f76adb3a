import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, symlinkSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { startCommand, type Running } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54321;
const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'SKIPPED: only root can start a plugin as another user';

void describe('the callers of Register', () => {
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

  async function asOther(one: BrokerProcess, name: string, as = name, ...more: readonly string[]): Promise<string> {
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-plugin.js');
    const socket = path.join(one.devicePlugins, `${name}.sock`);
    const argv = [file, String(OTHER_UID), socket, one.kubeletSocket, `example.com/${as}`, ...more];
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return line.toString();
  }

  /** A plugin of another user that waits in the registry. */
  function inRegistry(socket: string, resource: string): Running {
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-plugin.js');
    const program = startCommand(process.execPath, [file, String(OTHER_UID), socket, '-', resource]);
    children.push(program.child);
    return program;
  }

  void it('takes a plugin of another user, and names the user', { skip }, async () => {
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

  void it(
    'leaves a name to the uid that has it, whatever socket a newcomer names, and while it is held',
    { skip },
    async () => {
      const one = await broker({ grace: { device: '10m' } });
      const socket = path.join(one.devicePlugins, 'root.sock');
      const owner = await FakePlugin.start({ socket, resource: 'example.com/owned' });
      plugins.push(owner);
      await owner.register(one.kubeletSocket);
      await eventually('it serves', async () => (await one.allocatable('example.com/owned')) === 2);
      const refused = /PERMISSION_DENIED: NAME_OWNED: .*belongs to uid 0.*uid 54321 may not take it/;
      assert.match(await asOther(one, 'thief', 'owned'), refused);
      assert.match(await asOther(one, 'borrower', 'owned', 'root.sock'), /CALLER_NOT_LISTENER/);
      assert.equal(await one.allocatable('example.com/owned'), 2);
      assert.equal(owner.streams, 1);
      await owner.stop();
      await eventually('it is held', async () => (await one.plugins()).some(({ state }) => state === 'held'));
      assert.match(await asOther(one, 'heir', 'owned'), /NAME_OWNED: .*inside its grace/);
    },
  );

  void it(
    'leaves a name to the uid that has it at the watcher door, too, and lets others wait while it is held',
    { skip },
    async () => {
      const one = await broker({ grace: { device: '10m' } });
      chmodSync(one.registry, 0o755);
      const theirs = path.join(one.registry, 'theirs');
      mkdirSync(theirs);
      chownSync(theirs, OTHER_UID, OTHER_UID);
      const resource = 'vendor.example/gpu';
      const owner = await FakePlugin.start({ socket: path.join(one.registry, 'gpu.sock'), resource, door: 'watcher' });
      plugins.push(owner);
      await eventually('it serves', async () => (await one.allocatable(resource)) === 2);
      const thief = inRegistry(path.join(theirs, 'gpu.sock'), resource);
      await eventually('it is told', () => thief.stdout().includes('told: '));
      assert.match(thief.stdout(), /told: NAME_OWNED: .*belongs to uid 0.*uid 54321 may not take it/);
      assert.deepEqual([await one.allocatable(resource), owner.streams, owner.notified], [2, 1, ['']]);
      thief.child.kill('SIGKILL');
      await owner.stop();
      await eventually('it is held', async () => (await one.plugins()).some(({ state }) => state === 'held'));
      const heir = inRegistry(path.join(theirs, 'heir.sock'), resource);
      await eventually('it waits', async () => {
        const { events } = await one.admin.explain(resource, '');
        return events.some(({ message }) => /uid 54321 may not take it while it is inside its grace/.test(message));
      });
      // News for the heir would have come before.
      const other = inRegistry(path.join(theirs, 'other.sock'), 'nonsense');
      await eventually('another one is told', () => other.stdout().includes('told: NAME_INVALID'));
      assert.equal(heir.stdout(), 'waiting\n');
    },
  );

  void it('leaves a name to root that has it by the time at which another user has answered', { skip }, async () => {
    const one = await broker({});
    const stolen = asOther(one, 'thief', 'raced', '', 'held');
    await eventually('it is being asked', async () =>
      (await one.plugins()).some(({ state }) => state === 'connecting'),
    );
    const owner = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'owner.sock'),
      resource: 'example.com/raced',
    });
    plugins.push(owner);
    await owner.register(one.kubeletSocket);
    children.at(-1)?.stdin?.write('answer\n');
    assert.match(await stolen, /PERMISSION_DENIED: NAME_OWNED: .*belongs to uid 0/);
    await eventually('root serves', async () => (await one.allocatable('example.com/raced')) === 2);
    assert.deepEqual(
      (await one.plugins()).filter(({ state }) => state === 'ready').map(({ uid }) => uid),
      [0],
    );
  });

  void it('gives a name to another uid that a rule names, and to root', { skip }, async () => {
    const one = await broker({ rules: [{ match: { name: 'example.com/shared' }, uids: [0, OTHER_UID] }] });
    const mine = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'mine.sock'),
      resource: 'example.com/shared',
    });
    plugins.push(mine);
    await mine.register(one.kubeletSocket);
    assert.equal(await asOther(one, 'shared'), 'registered\n');
    assert.equal(await asOther(one, 'theirs'), 'registered\n');
    const heir = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'heir.sock'),
      resource: 'example.com/theirs',
    });
    plugins.push(heir);
    await heir.register(one.kubeletSocket);
  });

  void it('refuses by a rule for a socket also where a link leads to the root directory', async () => {
    const root = tempDir();
    const link = `${root}-link`;
    symlinkSync(root, link);
    try {
      const socket = path.join(link, 'device-plugins', 'x.sock');
      const one = new BrokerProcess(link, { rules: [{ match: { socket }, uids: [5] }] });
      brokers.push(one);
      await one.start();
      const mine = await FakePlugin.start({ socket, resource: 'example.com/linked' });
      plugins.push(mine);
      await assert.rejects(mine.register(one.kubeletSocket), /CALLER_NOT_ALLOWED: .*its rule allows 5/);
      await one.close();
    } finally {
      unlinkSync(link);
    }
  });

  void it('keeps root out of no name that an ordinary user took first, with any duplicates', { skip }, async () => {
    const rules = (['reject', 'keep-alive'] as const).map((duplicates) => ({
      match: { name: `example.com/${duplicates}` },
      duplicates,
    }));
    const one = await broker({ rules });
    for (const { duplicates } of rules) {
      assert.equal(await asOther(one, duplicates), 'registered\n');
      assert.match(await asOther(one, `${duplicates}-2`, duplicates), /DUPLICATE_/, 'it is told to others of its user');
      const socket = path.join(one.devicePlugins, `root-${duplicates}.sock`);
      const mine = await FakePlugin.start({ socket, resource: `example.com/${duplicates}` });
      plugins.push(mine);
      await mine.register(one.kubeletSocket);
    }
  });

  void it("refuses a caller that names root's socket before its plugin has registered", { skip }, async () => {
    const one = await broker({});
    const fresh = await FakePlugin.start({
      socket: path.join(one.devicePlugins, 'fresh.sock'),
      resource: 'example.com/fresh',
    });
    plugins.push(fresh);
    assert.match(await asOther(one, 'claim', 'claim', 'fresh.sock'), /PERMISSION_DENIED: CALLER_NOT_LISTENER/);
    await fresh.register(one.kubeletSocket);
    await eventually('it serves', async () => (await one.allocatable('example.com/fresh')) === 2);
  });

  void it('refuses a caller that names a socket on which another user listens', { skip }, async () => {
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
