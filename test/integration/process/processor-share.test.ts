import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { processorShare } from '../../../src/platform/process/processor-share.js';
import { tempDir } from '../../support/temp-dir.js';

/** The share where these files are, the own groups beside them. */
function shareOf(groups: string, files: Readonly<Record<string, string>>): number {
  const root = tempDir();
  const write = (name: string, text: string): void => {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  write('proc/self/cgroup', groups);
  for (const [name, text] of Object.entries(files)) write(`cgroup/${name}`, text);
  return processorShare(path.join(root, 'proc'), path.join(root, 'cgroup'));
}

describe('the share of a processor', () => {
  it('is whole where no group has a quota, or nothing can be read', () => {
    assert.equal(shareOf('0::/a/b\n', { 'a/cpu.max': 'max 100000\n' }), 1);
    assert.equal(shareOf('3:cpu,cpuacct:/a\n', { 'cpu,cpuacct/a/cpu.cfs_quota_us': '-1\n' }), 1);
    assert.equal(shareOf('', {}), 1);
    assert.equal(processorShare('/nowhere', '/nowhere'), 1);
    assert.equal(shareOf('0::/\n', { 'cpu.max': 'nothing of this kind' }), 1);
  });

  it('is the least of the group and those around it, in both versions', () => {
    const v2 = { 'a/cpu.max': '20000 100000\n', 'a/b/cpu.max': '50000 100000\n', 'a/b/c/cpu.max': 'max 100000\n' };
    assert.equal(shareOf('1:name=systemd:/x\n0::/a/b/c\n', v2), 0.2);
    const v1 = { 'cpu,cpuacct/a/cpu.cfs_quota_us': '30000\n', 'cpu,cpuacct/a/cpu.cfs_period_us': '100000\n' };
    assert.equal(shareOf('9:memory:/a\n4:cpu,cpuacct:/a\n0::/\n', v1), 0.3);
  });

  it('is that of the root of the mount in a container, whose groups have the paths of the machine', () => {
    assert.equal(shareOf('0::/../kubepods/pod1\n', { 'cpu.max': '10000 100000\n' }), 0.1);
  });

  it('is never more than one processor, nor next to nothing', () => {
    assert.equal(shareOf('0::/\n', { 'cpu.max': '400000 100000\n' }), 1);
    assert.equal(shareOf('0::/\n', { 'cpu.max': '1000 100000\n' }), 0.05);
  });
});
