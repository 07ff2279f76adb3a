import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { LeaseFiles } from '../../../src/cdi/lease-files.js';
import { fileOf, writtenAs } from '../../../src/cdi/names.js';
import { cdiDirectory } from '../../../src/platform/fs/cdi-directory.js';
import { lookAtHost } from '../../../src/platform/fs/host-node.js';
import { rootIdentity } from '../../../src/platform/fs/root-identity.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { cdiFile } from '../../support/cdi-schema.js';
import { eventually } from '../../support/eventually.js';
import { lease, type GivenLease } from '../../support/leases.js';
import { tempDir } from '../../support/temp-dir.js';

const IDS = ['01k9r4e7aaaaaaaaaaaaaaaaaa', '01k9r4e7bbbbbbbbbbbbbbbbbb', '01k9r4e7cccccccccccccccccc'] as const;
const ROOT = 'aaaaaaaaaaaaaaaa';

function bed(directory = path.join(tempDir(), 'run', 'cdi'), origin = { root: ROOT, boot: 'boot-1' }) {
  const told: (string | undefined)[] = [];
  const files = new LeaseFiles({
    directory: cdiDirectory(directory),
    look: lookAtHost,
    kind: 'plugin-broker/lease',
    origin,
    clock: systemClock,
    ownUid: 0,
    userOf: (uid) => uid,
    degraded: (why) => told.push(why),
  });
  const read = (id: string) => cdiFile.parse(JSON.parse(readFileSync(path.join(directory, fileOf(id)), 'utf8')));
  return { directory, files, told, read };
}

const withDevice = (id: string, hostPath: string, given: GivenLease = {}) =>
  lease({ id, ...given, answer: { devices: [{ hostPath, containerPath: '/dev/mine', permissions: 'rw' }] } });

describe('CDI files on a disk', () => {
  it('are written whole for everybody to read, and removed with their lease', async () => {
    const { directory, files, read, told } = bed();
    const umask = process.umask(0o077);
    try {
      assert.deepEqual(await files.write(withDevice(IDS[0], '/dev/null')), { name: `plugin-broker/lease=${IDS[0]}` });
    } finally {
      process.umask(umask);
    }
    assert.deepEqual(readdirSync(directory), [fileOf(IDS[0])]);
    assert.equal(statSync(path.join(directory, fileOf(IDS[0]))).mode & 0o777, 0o644);
    assert.deepEqual(read(IDS[0]).devices[0]?.containerEdits.deviceNodes, [
      { path: '/dev/mine', hostPath: '/dev/null', permissions: 'rw' },
    ]);
    await files.remove(IDS[0]);
    await files.remove(IDS[0]);
    assert.deepEqual(readdirSync(directory), []);
    assert.deepEqual(told, [undefined]);
  });

  it('name what links and directories lead to', async () => {
    const dev = tempDir();
    mkdirSync(path.join(dev, 'many', 'deep'), { recursive: true });
    symlinkSync('/dev/zero', path.join(dev, 'by-id'));
    symlinkSync(path.join(dev, 'by-id'), path.join(dev, 'many', 'z'));
    symlinkSync('/dev/full', path.join(dev, 'many', 'deep', 'f'));
    symlinkSync(path.join(dev, 'many'), path.join(dev, 'many', 'round'));
    symlinkSync('/nowhere', path.join(dev, 'many', 'broken'));
    const { files, read } = bed();
    await files.write(withDevice(IDS[0], path.join(dev, 'by-id')));
    assert.equal(read(IDS[0]).devices[0]?.containerEdits.deviceNodes?.[0]?.hostPath, '/dev/zero');
    await files.write(withDevice(IDS[1], path.join(dev, 'many')));
    assert.deepEqual(read(IDS[1]).devices[0]?.containerEdits.deviceNodes, [
      { path: '/dev/mine/deep/f', hostPath: '/dev/full', permissions: 'rw' },
      { path: '/dev/mine/z', hostPath: '/dev/zero', permissions: 'rw' },
    ]);
  });

  it('are not written without the device node, and the reason is told', async () => {
    const { directory, files, told } = bed();
    await files.reconcile([], true);
    const written = await files.write(withDevice(IDS[0], '/dev/not-there'));
    assert.ok('problem' in written);
    assert.match(written.problem, /the device node \/dev\/not-there does not exist/);
    assert.equal(written.reason, 'device-node-missing');
    for (const odd of ['/etc/hostname', tempDir()]) {
      const refused = await files.write(withDevice(IDS[0], odd));
      assert.ok('problem' in refused && refused.problem.includes('is no device node but'), odd);
    }
    assert.deepEqual(readdirSync(directory), []);
    assert.deepEqual(told, []);
  });

  it('are not written for directories that somebody filled: a few thousand names of all its paths are looked at', async () => {
    const full = tempDir();
    const paths = Array.from({ length: 5 }, (_, nth) => path.join(full, String(nth)));
    for (const folder of paths) {
      mkdirSync(folder);
      for (let nth = 0; nth < 1000; nth++) writeFileSync(path.join(folder, String(nth)), '');
    }
    const seen = await lookAtHost([...paths, '/dev/null', paths[0] ?? ''], AbortSignal.timeout(60_000));
    assert.deepEqual(seen.get(paths[0] ?? ''), { kind: 'unusable', what: 'a directory without device nodes' });
    assert.deepEqual(seen.get(paths[4] ?? ''), {
      kind: 'unusable',
      what: 'something that cannot be looked at (more than 4096 names in directories)',
    });
    assert.deepEqual(seen.get('/dev/null'), { kind: 'node', path: '/dev/null' });
    const signal = AbortSignal.abort(new Error('too late'));
    await assert.rejects(lookAtHost(paths, signal), /too late/);
  });

  it('count the nodes of a directory each time that a link leads there', async () => {
    const dev = tempDir();
    mkdirSync(path.join(dev, 'many'));
    for (let nth = 0; nth < 400; nth++) symlinkSync('/dev/null', path.join(dev, 'many', String(nth)));
    const links = ['one', 'two', 'three'].map((name) => path.join(dev, name));
    for (const link of links) symlinkSync('many', link);
    const seen = await lookAtHost(links, AbortSignal.timeout(60_000));
    assert.deepEqual(
      links.map((link) => seen.get(link)?.kind),
      ['directory', 'directory', 'unusable'],
    );
  });

  it('cost a lease its name, and nothing else, where the directory cannot be written', async () => {
    const folder = tempDir();
    writeFileSync(path.join(folder, 'cdi'), 'a file in the way');
    const { files, told } = bed(path.join(folder, 'cdi'));
    await files.reconcile([lease({ id: IDS[1] })], true);
    const written = await files.write(lease({ id: IDS[0] }));
    assert.ok(
      'problem' in written && written.problem.startsWith('CDI files cannot be written in'),
      JSON.stringify(written),
    );
    assert.match(told.at(-1) ?? '', /leases work without CDI names until the broker may write there/);
    rmSync(path.join(folder, 'cdi'));
    assert.ok('name' in (await files.write(lease({ id: IDS[0] }))));
    assert.equal(told.at(-1), undefined);
  });

  it('have a name that engines read once their lease is on the disk, and leave nothing where it never is', async () => {
    const { directory, files } = bed();
    let recorded = (_: boolean): void => undefined;
    const given = files.write(lease({ id: IDS[0] }), new Promise((resolve) => (recorded = resolve)));
    const draft = writtenAs(IDS[0], ROOT);
    await eventually('it is written', () => existsSync(directory) && readdirSync(directory).join() === draft);
    recorded(true);
    assert.ok('name' in (await given));
    assert.deepEqual(readdirSync(directory), [fileOf(IDS[0])]);
    assert.ok('problem' in (await files.write(lease({ id: IDS[1] }), Promise.resolve(false))));
    assert.deepEqual(readdirSync(directory), [fileOf(IDS[0])]);
  });

  it('are made again at a start: missing ones written, changed ones put right, ours without a lease removed', async () => {
    const { directory, files } = bed();
    for (const id of IDS) await files.write(lease({ id }));
    rmSync(path.join(directory, fileOf(IDS[0])));
    writeFileSync(path.join(directory, fileOf(IDS[1])), '{}');
    writeFileSync(path.join(directory, writtenAs(IDS[1], ROOT)), 'cut');
    const foreign = { 'nvidia.json': '{}', [writtenAs(IDS[1], 'bbbbbbbbbbbbbbbb')]: 'being written', 'note.txt': '' };
    for (const [name, text] of Object.entries(foreign)) writeFileSync(path.join(directory, name), text);
    const next = bed(directory);
    const results = await next.files.reconcile([lease({ id: IDS[0] }), lease({ id: IDS[1] })], true);
    assert.deepEqual(readdirSync(directory).sort(), [...Object.keys(foreign), fileOf(IDS[0]), fileOf(IDS[1])].sort());
    for (const id of IDS.slice(0, 2)) {
      assert.equal(next.read(id).devices[0]?.name, id);
      assert.deepEqual(results.get(id), { name: `plugin-broker/lease=${id}` });
    }
  });

  it('are found among thousands of names, which are read in parts, each once', async () => {
    const directory = tempDir();
    const many = Array.from({ length: 2500 }, (_, nth) => `other-${String(nth)}.json`);
    for (const name of many) writeFileSync(path.join(directory, name), '');
    assert.deepEqual([...(await cdiDirectory(directory).names())].sort(), many.sort());
    for (const count of [1024, 0]) {
      for (const name of many.splice(count)) rmSync(path.join(directory, name));
      assert.deepEqual([...(await cdiDirectory(directory).names())].sort(), many.sort());
    }
  });

  it('are made again although something else has the name of a draft', async () => {
    const { directory, files, told } = bed();
    mkdirSync(path.join(directory, writtenAs(IDS[1], ROOT)), { recursive: true });
    await files.reconcile([withDevice(IDS[0], '/dev/null')], true);
    assert.deepEqual(readdirSync(directory).sort(), [writtenAs(IDS[1], ROOT), fileOf(IDS[0])]);
    assert.deepEqual(told, [undefined]);
  });

  it('of another root, and all of them while the ledger is not known, stay', async () => {
    const { directory, files } = bed();
    await files.write(lease({ id: IDS[0] }));
    const other = bed(directory, { root: 'bbbbbbbbbbbbbbbb', boot: 'boot-1' });
    await other.files.reconcile([], true);
    assert.equal(existsSync(path.join(directory, fileOf(IDS[0]))), true);
    const unsure = bed(directory);
    await unsure.files.reconcile([], false);
    assert.equal(existsSync(path.join(directory, fileOf(IDS[0]))), true);
    await unsure.files.reconcile([], true);
    assert.equal(existsSync(path.join(directory, fileOf(IDS[0]))), false);
  });

  it('say what was given in this boot, and not what was in another', async () => {
    const { directory, files } = bed();
    await files.write(lease({ id: IDS[0], devices: { 'v/gpu': ['a;b', 'c=%d'], 'v/acc': ['x/y'] } }));
    await files.write(lease({ id: IDS[1], devices: { 'v/gpu': ['e'] } }));
    writeFileSync(path.join(directory, fileOf(IDS[2])), 'cut off');
    const claims = await bed(directory).files.claims();
    assert.deepEqual(claims, [
      {
        leaseId: IDS[0],
        devices: new Map([
          [
            'v/gpu',
            [
              { id: 'a;b', numaNodes: [] },
              { id: 'c=%d', numaNodes: [] },
            ],
          ],
          ['v/acc', [{ id: 'x/y', numaNodes: [] }]],
        ]),
      },
      { leaseId: IDS[1], devices: new Map([['v/gpu', [{ id: 'e', numaNodes: [] }]]]) },
    ]);
    assert.deepEqual(await bed(directory, { root: ROOT, boot: 'boot-2' }).files.claims(), []);
    assert.deepEqual(await bed(path.join(directory, 'none')).files.claims(), []);
  });

  it('of a reboot are written anew with the boot they are of', async () => {
    const { directory, files } = bed();
    await files.write(lease({ id: IDS[0] }));
    const next = bed(directory, { root: ROOT, boot: 'boot-2' });
    await next.files.reconcile([lease({ id: IDS[0] })], true);
    assert.deepEqual(next.read(IDS[0]).containerEdits?.env, [`PLUGIN_BROKER_ORIGIN=${ROOT}.boot-2`]);
    assert.equal((await next.files.claims()).length, 1);
  });
});

describe('the identity of a root', () => {
  it('is the same for the same directory, however it is called, and another for another', () => {
    const folder = tempDir();
    symlinkSync(folder, `${folder}/link`);
    assert.equal(rootIdentity(`${folder}/link`), rootIdentity(folder));
    assert.match(rootIdentity(folder), /^[0-9a-f]{16}$/);
    assert.notEqual(rootIdentity(folder), rootIdentity(tempDir()));
  });
});
