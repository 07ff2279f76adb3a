import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54321;
const OTHER_GID = 54322;
const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can be another user';
const hasPython = spawnSync('python3', ['--version']).status === 0;

/** user::rwx, user:OTHER_UID:rwx, group::r-x, mask::rwx, other::--- as the kernel keeps it (version 2, little endian). */
const DEFAULT_ACL = `
import os, struct, sys
none = 0xffffffff
entries = [(1, 7, none), (2, 7, ${String(OTHER_UID)}), (4, 5, none), (16, 7, none), (32, 0, none)]
acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)
os.setxattr(sys.argv[1], 'system.posix_acl_default', acl)
`;

/** The outcome of connecting for a process of another user and group: `connected`, or the code of the system. */
function connecting(socket: string): string {
  const script = `
    process.setgroups([${String(OTHER_GID)}]); process.setgid(${String(OTHER_GID)}); process.setuid(${String(OTHER_UID)});
    const socket = require('net').connect(process.argv[1]);
    socket.on('connect', () => { process.stdout.write('connected'); process.exit(); });
    socket.on('error', ({ code }) => process.stdout.write(code));`;
  return spawnSync(process.execPath, ['-e', script, socket], { timeout: 10_000 }).stdout.toString();
}

void describe('the mode and group of kubelet.sock and alloc.sock', { skip }, () => {
  const brokers: BrokerProcess[] = [];
  after(() => Promise.all(brokers.map((one) => one.close())));

  async function started(config: object, prepare: (directory: string) => void = () => undefined) {
    const one = new BrokerProcess(tempDir(), config);
    brokers.push(one);
    mkdirSync(one.devicePlugins);
    chmodSync(one.root, 0o755);
    chmodSync(one.devicePlugins, 0o755);
    prepare(one.devicePlugins);
    await one.start();
    return { mode: (statSync(one.kubeletSocket).mode & 0o777).toString(8), gid: statSync(one.kubeletSocket).gid, one };
  }

  void it("is root alone with the default '0755', as with the kubelet's own socket", async () => {
    const { mode, one } = await started({});
    assert.deepEqual([mode, connecting(one.kubeletSocket)], ['755', 'EACCES']);
  });

  void it('is everybody in socket.group with a mode that lets the group write', async () => {
    const { mode, gid, one } = await started({ socket: { mode: '0770', group: OTHER_GID } });
    assert.deepEqual([mode, gid, connecting(one.kubeletSocket)], ['770', OTHER_GID, 'connected']);
  });

  void it('is whom a default ACL of the directory names, beside the mode', { skip: !hasPython }, async () => {
    const { one } = await started({}, (directory) => {
      const set = spawnSync('python3', ['-c', DEFAULT_ACL, directory]);
      assert.equal(set.status, 0, set.stderr.toString());
    });
    assert.equal(connecting(one.kubeletSocket), 'connected');
  });

  void it('is everybody in allocator.group for alloc.sock, by number or name, and the own group without one', async () => {
    const seen = async ({ one }: { one: BrokerProcess }): Promise<unknown> => {
      const socket = path.join(one.root, 'alloc.sock');
      await eventually('alloc.sock, the last of the sockets, is in its place', () => existsSync(socket));
      const { mode, gid } = statSync(socket);
      return [(mode & 0o777).toString(8), gid, connecting(socket)];
    };
    const [, name = '', gid = ''] = /^([^:\n]+):[^:]*:([1-9][0-9]*):/m.exec(readFileSync('/etc/group', 'utf8')) ?? [];
    assert.deepEqual(await seen(await started({ allocator: { group: String(OTHER_GID) } })), [
      '660',
      OTHER_GID,
      'connected',
    ]);
    assert.deepEqual(await seen(await started({ allocator: { group: name } })), ['660', Number(gid), 'EACCES']);
    assert.deepEqual(await seen(await started({})), ['660', process.getgid?.(), 'EACCES']);
  });

  void it('of alloc.sock that does not exist is told, and the broker serves without it', async () => {
    const { mode, one } = await started({ allocator: { group: 'no-such-group' } });
    const problems = await eventually('it is told', async () => {
      const told = (await one.status()).broker.problems;
      return told.length > 0 ? told : undefined;
    });
    assert.equal(existsSync(path.join(one.root, 'alloc.sock')), false);
    assert.match(problems.join(), /devices cannot be asked for .* has no group no-such-group: .* allocator\.group/);
    assert.equal(mode, '755', 'kubelet.sock is as it was');
  });

  void it('is nobody whom an ACL names where broker.sock is meant', { skip: !hasPython }, async () => {
    const one = new BrokerProcess(tempDir());
    brokers.push(one);
    chmodSync(one.root, 0o755);
    spawnSync('python3', ['-c', DEFAULT_ACL, one.root]);
    await one.start();
    assert.equal(connecting(`${one.root}/broker.sock`), 'EACCES');
  });

  void it('is told when the group does not exist, with what to do', async () => {
    const one = new BrokerProcess(tempDir(), { socket: { mode: '0770', group: 'no-such-group' } });
    brokers.push(one);
    const [code] = (await once(one.spawn(), 'close')) as [number | null];
    assert.equal(code, 1);
    assert.match(one.log, /group no-such-group: .*groupadd/);
  });
});
