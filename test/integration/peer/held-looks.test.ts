// What the kernel shows of processes and groups, in directories whose locks somebody holds: to open a FIFO waits in the kernel, for a writer.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { boundNameCalls, isNameCallLate } from '../../../src/platform/fs/name-calls.js';
import { ownersIn } from '../../../src/platform/peer/owners.js';
import { ownUid } from '../../../src/platform/process/own-uid.js';
import { processorShare } from '../../../src/platform/process/processor-share.js';
import { lookAtProcess } from '../../../src/platform/process/proc-stat.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

// As the daemon does it; nothing is in the cache of the kernel.
const users = { ownUid: ownUid(), userOf: (uid: number) => uid };
boundNameCalls(() => 0, users, { openCached: () => ({ error: 'EAGAIN' }) });

const stat = (pid: number): string => `${String(pid)} (a) S 1 42 42 0 -1 4227084 104 0 0 0 0 0 0 0 20 0 1 0 816 0 0`;

function machine() {
  const root = tempDir();
  const [proc, mount] = [path.join(root, 'proc'), path.join(root, 'cgroup')];
  const file = (at: string, text: string): string => {
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, text);
    return at;
  };
  const statFile = (pid: number): string => path.join(proc, String(pid), 'task', String(pid), 'stat');
  for (const pid of [1, 2, 3, 4]) file(statFile(pid), stat(pid));
  return { proc, mount, file, statFile, port: ownersIn({ proc, mounts: [mount] }) };
}

/** Nothing is opened by this name before the returned function is called. */
function held(at: string): () => Promise<void> {
  rmSync(at, { force: true });
  execFileSync('mkfifo', [at]);
  return async () => {
    closeSync(openSync(at, constants.O_WRONLY | constants.O_NONBLOCK));
    await eventually('the call has returned', () => !isNameCallLate());
    rmSync(at);
  };
}

describe('a process or control group whose directory somebody holds', () => {
  it('keeps nobody waiting, and is not taken for gone', async () => {
    const { proc, file, statFile, port } = machine();
    const letGo = held(statFile(1));
    assert.equal(lookAtProcess(1, 4001, proc), 'unseen');
    assert.equal(port.isAlive({ pid: 1, startTime: '816' }, 4001), true);
    assert.equal(lookAtProcess(2, 4001, proc), 'unseen', 'a user is waited for once');
    assert.notEqual(typeof lookAtProcess(3, 4002, proc), 'string', 'another user is seen');
    assert.notEqual(typeof lookAtProcess(4, 0, proc), 'string', 'root is seen');
    await letGo();
    file(statFile(1), stat(1));
    assert.notEqual(typeof lookAtProcess(1, 4001, proc), 'string');
  });

  it('is a group that its lease goes on with', async () => {
    const { proc, mount, file, port } = machine();
    file(path.join(mount, 'cgroup.controllers'), '');
    file(path.join(mount, 'job.scope', 'cgroup.events'), 'populated 0\n');
    file(path.join(proc, '1', 'cgroup'), '0::/job.scope\n');
    const life = port.cgroupOf(1, 4003);
    assert.ok(life !== undefined && !port.isPopulated(life, 4003));
    const letGo = held(path.join(mount, 'job.scope', 'cgroup.events'));
    assert.equal(port.isPopulated(life, 4003), true);
    const again = held(path.join(proc, '2', 'cgroup'));
    assert.equal(port.cgroupOf(2, 4004), undefined);
    await Promise.all([letGo(), again()]);
  });

  it('is of no quota that is known: a start goes on', async () => {
    const { proc, mount, file } = machine();
    file(path.join(proc, 'self/cgroup'), '0::/job.scope\n');
    const quota = file(path.join(mount, 'job.scope', 'cpu.max'), '20000 100000\n');
    assert.equal(processorShare(proc, mount), 0.2);
    const letGo = held(quota);
    assert.equal(processorShare(proc, mount), 1);
    await letGo();
  });
});
