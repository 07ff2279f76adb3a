// Machines are directories here: processes and control groups are files, as the kernel shows them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { OwnerPort } from '../../../src/allocation/ports.js';
import { ownersIn } from '../../../src/platform/peer/owners.js';
import { tempDir } from '../../support/temp-dir.js';

const PID = 42;
const UID = 4001;
const PROCESS = { pid: PID, startTime: '816' };
/** As the kernel shows a process whose first thread has ended. */
const zombie = (threads: number): string =>
  `42 (a) Z b) Z 1 42 42 0 -1 4227084 104 0 0 0 0 0 0 0 20 0 ${String(threads)} 0 816 0 0 18446744073709551615 0 0`;

/** @param mounts names of the directories that control groups are looked for in */
function machine(...mounts: readonly string[]) {
  const root = tempDir();
  const places = { proc: path.join(root, 'proc'), mounts: mounts.map((mount) => path.join(root, mount)) };
  const process = path.join(places.proc, String(PID));
  const thread = path.join(process, 'task', String(PID));
  for (const directory of [thread, ...places.mounts]) mkdirSync(directory, { recursive: true });
  const group = (name: string | Buffer, mount = places.mounts[0] ?? ''): Buffer => {
    const at = Buffer.concat([Buffer.from(mount), Buffer.from(name)]);
    mkdirSync(at, { recursive: true });
    // A file of the longest names has none itself, as on a real machine.
    if (at.length + '/cgroup.events'.length <= 4095)
      writeFileSync(Buffer.concat([at, Buffer.from('/cgroup.events')]), 'populated 1\nfrozen 0\n');
    return at;
  };
  return {
    ...places,
    group,
    port: ownersIn(places),
    shows: (file: 'cgroup' | 'stat', text: string | Buffer) =>
      writeFileSync(path.join(file === 'stat' ? thread : process, file), text),
  };
}

/** The process is in a group. @returns how that group is known */
function lifeIn({ shows, port }: ReturnType<typeof machine>, name: string | Buffer): ReturnType<OwnerPort['cgroupOf']> {
  shows('cgroup', Buffer.concat([Buffer.from('4:memory:/elsewhere\n0::'), Buffer.from(name), Buffer.from('\n')]));
  return port.cgroupOf(PID, UID);
}

/** A path of nested groups, of so many bytes. */
function nested(bytes: number): string {
  const full = `/${'g'.repeat(199)}`.repeat(Math.floor(bytes / 200));
  const left = bytes - full.length;
  return left < 2 ? `${full.slice(0, -2)}${'/g'.repeat(1 + left)}`.slice(0, bytes) : `${full}/${'g'.repeat(left - 1)}`;
}

describe('control groups that own leases', () => {
  it('end when they are empty, when they are gone, and when another one has their name', () => {
    const world = machine('cgroup');
    const at = world.group('/job.scope');
    const life = lifeIn(world, '/job.scope');
    assert.ok(life !== undefined && world.port.isPopulated(life, UID));
    assert.equal(world.port.isPopulated({ ...life, inode: `${life.inode}1` }, UID), false);
    writeFileSync(path.join(String(at), 'cgroup.events'), 'populated 0\nfrozen 0\n');
    assert.equal(world.port.isPopulated(life, UID), false);
    rmSync(at, { recursive: true });
    assert.equal(world.port.isPopulated(life, UID), false);
    assert.equal(world.port.cgroupOf(PID, UID), undefined);
  });

  it('are looked at where they can be again, however long their names are, and end as others do', () => {
    for (const order of [
      ['cg', 'cg-unified-8'],
      ['cg-unified-8', 'cg'],
    ]) {
      const world = machine(...order);
      const longest = 4095 - Math.max(...world.mounts.map((mount) => mount.length));
      const [short = ''] = world.mounts.filter((mount) => mount.endsWith('/cg'));
      let seen = 0;
      for (let bytes = longest - 16; bytes <= longest + 9; bytes += 1) {
        const name = nested(bytes);
        assert.equal(name.length, bytes);
        const at = world.group(name, short);
        const life = lifeIn(world, name);
        seen += life === undefined ? 0 : 1;
        const known = { path: name, inode: life?.inode ?? '1' };
        assert.equal(world.port.isPopulated(known, UID), life !== undefined, String(bytes));
        rmSync(at, { recursive: true });
        assert.equal(world.port.isPopulated(known, UID), false, String(bytes));
        assert.equal(world.port.cgroupOf(PID, UID), undefined);
      }
      assert.ok(seen === 3, 'where the file that tells of their processes has a name');
    }
  });

  it('are not looked at where a look fails, and are taken to be there', () => {
    const world = machine('cgroup');
    const at = world.group('/job.scope');
    const life = lifeIn(world, '/job.scope');
    assert.ok(life !== undefined);
    rmSync(at, { recursive: true });
    // The system's answer to a look at a name with this byte is no error of the kind that says that nothing is there.
    const hidden = { ...life, path: '/job\0scope' };
    assert.equal(world.port.isPopulated(hidden, UID), true);
    assert.equal(lifeIn(world, '/job\0scope'), undefined);
  });

  it('have names of any bytes, and are never above the mount', () => {
    const world = machine('cgroup');
    for (const name of [
      Buffer.from('/é'),
      Buffer.from([0x2f, 0xff, 0xfe]),
      Buffer.from('/a\rb'),
      Buffer.from('/x\r0::/job.scope'),
    ]) {
      const at = world.group(name);
      const life = lifeIn(world, name);
      assert.equal(life?.path, name.toString('latin1'));
      assert.equal(world.port.isPopulated(life, UID), true);
      rmSync(at, { recursive: true });
      assert.equal(world.port.isPopulated(life, UID), false);
    }
    assert.equal(lifeIn(world, '/../proc'), undefined);
    assert.ok(existsSync(world.proc));
  });
});

describe('processes that own leases', () => {
  it('live as long as one of their threads does', () => {
    const { shows, port } = machine('cgroup');
    for (const [threads, isAlive] of [
      [3, true],
      [2, true],
      [1, false],
      [0, false],
    ] as const) {
      shows('stat', zombie(threads));
      assert.equal(port.isAlive(PROCESS, UID), isAlive, String(threads));
    }
    shows('stat', zombie(3));
    assert.equal(port.isAlive({ ...PROCESS, startTime: '815' }, UID), false, 'another one of its number');
  });

  it('have ended when they are gone, and not when they cannot be looked at', () => {
    const { proc, port } = machine('cgroup');
    assert.equal(port.isAlive(PROCESS, UID), false);
    // Reading it fails as it does without a descriptor: not because there is no such process.
    mkdirSync(path.join(proc, String(PID), 'task', String(PID), 'stat'));
    assert.equal(port.isAlive(PROCESS, UID), true);
  });

  it('live, and time goes on, while no descriptor is left to look with', () => {
    const module = (file: string): string => new URL(`../../../src/platform/${file}.js`, import.meta.url).href;
    const script = `
      import { openSync, readFileSync } from 'node:fs';
      import { owners } from '${module('peer/owners')}';
      import { procStat } from '${module('process/proc-stat')}';
      import { uptimeMs } from '${module('time/boot')}';
      const self = { pid: process.pid, startTime: procStat(process.pid).startTime };
      const before = uptimeMs();
      try { for (;;) openSync('/dev/null'); } catch ({ code }) { process.stdout.write(code); }
      process.stdout.write([owners.isAlive(self, 0), Math.abs(uptimeMs() - before) < 60_000].join());`;
    const limited = ['--nofile=64:64', process.execPath, '--input-type=module', '-e', script];
    assert.equal(execFileSync('prlimit', limited, { encoding: 'utf8' }), 'EMFILEtrue,true');
  });
});
