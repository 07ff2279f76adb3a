import { describe, it, mock } from 'node:test';
import assert from 'node:assert/strict';
import fs, { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type { FilePort } from '../../../src/checkpoint/file-port.js';
import { oneAtATime } from '../../../src/platform/store/file-lane.js';
import { nodeFiles } from '../../../src/platform/store/node-files.js';
import { FakeDisk } from '../../support/fake-disk.js';
import { tempDir } from '../../support/temp-dir.js';

/** The errno name of a rejection of a FilePort, or its message where it has none. */
function errnoOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const code: unknown = (failure as { code?: unknown }).code;
  return typeof code === 'string' ? code : failure.message;
}

interface Subject {
  readonly files: FilePort;
  readonly folder: string;
}

/** The same promises for the real files, the fake ones, and either behind the lane. */
const SUBJECTS: readonly { readonly name: string; readonly make: () => Promise<Subject> }[] = [
  { name: 'real files', make: async () => ({ files: nodeFiles, folder: tempDir() }) },
  {
    name: 'real files, one operation at a time',
    make: async () => ({ files: oneAtATime(nodeFiles), folder: tempDir() }),
  },
  { name: 'the fake disk', make: fakeSubject },
];

async function fakeSubject(): Promise<Subject> {
  const files = new FakeDisk();
  await files.makeDirectory('/t');
  return { files, folder: '/t' };
}

async function put(files: FilePort, file: string, text: string): Promise<void> {
  const open = await files.create(file);
  await open.write(Buffer.from(text));
  await open.sync();
  await open.close();
}

async function get(files: FilePort, file: string): Promise<string | undefined> {
  return (await files.read(file, 1000))?.toString();
}

async function errnoFrom(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (failure: unknown) => errnoOf(failure),
  );
}

for (const { name, make } of SUBJECTS) {
  void describe(`files as ${name}`, () => {
    it('reads what was written, in as many writes as it came', async () => {
      const { files, folder } = await make();
      const open = await files.create(`${folder}/a`);
      for (const text of ['one ', 'two ', 'three']) await open.write(Buffer.from(text));
      await open.sync();
      await open.close();
      assert.equal(await get(files, `${folder}/a`), 'one two three');
    });

    it('empties a file that is created again', async () => {
      const { files, folder } = await make();
      await put(files, `${folder}/a`, 'a long text');
      await put(files, `${folder}/a`, 'short');
      assert.equal(await get(files, `${folder}/a`), 'short');
    });

    it('adds at the end, making the file where there is none', async () => {
      const { files, folder } = await make();
      for (const text of ['a\n', 'b\n']) {
        const open = await files.append(`${folder}/log`);
        await open.write(Buffer.from(text));
        await open.close();
      }
      assert.equal(await get(files, `${folder}/log`), 'a\nb\n');
    });

    it('has nothing to read where there is no file or folder, and refuses what is too large', async () => {
      const { files, folder } = await make();
      assert.equal(await files.read(`${folder}/none`, 10), undefined);
      assert.equal(await files.read(`${folder}/no/ne`, 10), undefined);
      assert.equal(await files.readTail(`${folder}/none`, 10), undefined);
      assert.deepEqual(await files.list(`${folder}/none`), []);
      await put(files, `${folder}/a`, 'x'.repeat(11));
      assert.equal((await files.read(`${folder}/a`, 11))?.length, 11);
      assert.equal(await errnoFrom(files.read(`${folder}/a`, 10)), 'EFBIG');
      await put(files, `${folder}/empty`, '');
      assert.equal((await files.read(`${folder}/empty`, 0))?.length, 0);
    });

    it('reads the end of a file', async () => {
      const { files, folder } = await make();
      await put(files, `${folder}/a`, '0123456789');
      assert.equal((await files.readTail(`${folder}/a`, 4))?.toString(), '6789');
      assert.equal((await files.readTail(`${folder}/a`, 40))?.toString(), '0123456789');
    });

    it('renames over what is there, and does nothing between two names of one file', async () => {
      const { files, folder } = await make();
      await put(files, `${folder}/a`, 'new');
      await put(files, `${folder}/b`, 'old');
      await files.rename(`${folder}/a`, `${folder}/b`);
      assert.deepEqual([await get(files, `${folder}/a`), await get(files, `${folder}/b`)], [undefined, 'new']);
      await files.link(`${folder}/b`, `${folder}/c`);
      await files.rename(`${folder}/b`, `${folder}/c`);
      assert.deepEqual([await get(files, `${folder}/b`), await get(files, `${folder}/c`)], ['new', 'new']);
      assert.equal(await errnoFrom(files.rename(`${folder}/none`, `${folder}/x`)), 'ENOENT');
    });

    it('links to a free name only, and the file lives as long as one of its names', async () => {
      const { files, folder } = await make();
      await put(files, `${folder}/a`, 'text');
      await files.link(`${folder}/a`, `${folder}/b`);
      assert.equal(await errnoFrom(files.link(`${folder}/a`, `${folder}/b`)), 'EEXIST');
      assert.equal(await errnoFrom(files.link(`${folder}/none`, `${folder}/x`)), 'ENOENT');
      await files.remove(`${folder}/a`);
      await files.remove(`${folder}/a`);
      assert.deepEqual([await get(files, `${folder}/a`), await get(files, `${folder}/b`)], [undefined, 'text']);
    });

    it('makes a folder once, and only inside one that is there', async () => {
      const { files, folder } = await make();
      assert.equal(await files.makeDirectory(`${folder}/d`), true);
      assert.equal(await files.makeDirectory(`${folder}/d`), false);
      assert.equal(await errnoFrom(files.makeDirectory(`${folder}/x/y`)), 'ENOENT');
      assert.equal(await errnoFrom(files.create(`${folder}/x/y`)), 'ENOENT');
      await put(files, `${folder}/d/a`, '');
      await put(files, `${folder}/d/b`, '');
      await files.makeDirectory(`${folder}/d/sub`);
      const listed = await files.list(`${folder}/d`);
      assert.deepEqual(listed.map(({ name, isFile }) => `${name} ${String(isFile)}`).sort(), [
        'a true',
        'b true',
        'sub false',
      ]);
      await files.syncDirectory(`${folder}/d`);
      assert.equal(await errnoFrom(files.syncDirectory(`${folder}/x`)), 'ENOENT');
    });
  });
}

void describe('real files', () => {
  it('are for us alone', async () => {
    const folder = tempDir();
    await put(nodeFiles, `${folder}/a`, '');
    await nodeFiles.makeDirectory(`${folder}/d`);
    writeFileSync(`${folder}/open`, '', { mode: 0o644 });
    await nodeFiles.restrict(`${folder}/open`);
    const modes = ['a', 'd', 'open'].map((name) => (statSync(`${folder}/${name}`).mode & 0o777).toString(8));
    assert.deepEqual(modes, ['600', '700', '600']);
  });

  it('are never written through a link', async () => {
    const folder = tempDir();
    writeFileSync(`${folder}/victim`, 'precious');
    for (const name of ['a', 'b']) symlinkSync(`${folder}/victim`, `${folder}/${name}`);
    await put(nodeFiles, `${folder}/a`, 'ours');
    const log = await nodeFiles.append(`${folder}/b`);
    await log.write(Buffer.from('ours'));
    await log.close();
    for (const name of ['a', 'b']) assert.ok(lstatSync(`${folder}/${name}`).isFile(), name);
    assert.equal(readFileSync(`${folder}/victim`, 'utf8'), 'precious');
  });
});

void describe('the lane', () => {
  it('begins an operation only when the one before has ended, in order, and goes on after failures', async () => {
    const disk = new FakeDisk();
    await disk.makeDirectory('/t');
    const files = oneAtATime(disk);
    const written = await files.create('/t/written');
    // As after a commit: nobody waits for the close.
    void written.close();
    await files.rename('/t/written', '/t/kept');
    disk.failAt(disk.operations.length + 3, 'EIO');
    const work = [
      put(files, '/t/a', 'a'),
      put(files, '/t/b', 'b'),
      files.list('/t'),
      files.makeDirectory('/t/d'),
      files.read('/t/a', 10),
      files.syncDirectory('/t'),
    ];
    const results = await Promise.allSettled(work);
    assert.equal(results.filter(({ status }) => status === 'rejected').length, 1);
    assert.equal(disk.mostOutstanding, 1);
  });
});

// A process that is killed loses nothing that was written: only a power cut shows what was not synced. So here it is
// looked at what is asked of the kernel.
void describe('real files at a power cut', () => {
  /** The calls that reach node:fs while `work` runs, each on which path. */
  async function asked(work: () => Promise<void>): Promise<string[]> {
    const told: string[] = [];
    const pathOf = (fd: number): string => fs.readlinkSync(`/proc/self/fd/${fd}`);
    const { fdatasync, fsync } = fs;
    const watched = [
      mock.method(fs, 'fdatasync', ((fd: number, done: fs.NoParamCallback) => {
        told.push(`fdatasync ${pathOf(fd)}`);
        fdatasync(fd, done);
      }) as typeof fs.fdatasync),
      mock.method(fs, 'fsync', ((fd: number, done: fs.NoParamCallback) => {
        told.push(`fsync ${pathOf(fd)}`);
        fsync(fd, done);
      }) as typeof fs.fsync),
    ];
    try {
      await work();
      return told;
    } finally {
      for (const { mock: method } of watched) method.restore();
    }
  }

  it('have their bytes on the disk when sync resolves', async () => {
    const folder = tempDir();
    assert.deepEqual(await asked(() => put(nodeFiles, `${folder}/a`, 'text')), [`fdatasync ${folder}/a`]);
  });

  it('have their names on the disk when the sync of their directory resolves', async () => {
    const folder = tempDir();
    assert.deepEqual(await asked(() => nodeFiles.syncDirectory(folder)), [`fsync ${folder}`]);
  });
});
