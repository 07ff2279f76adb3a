import { after, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryKey } from '../../../src/checkpoint/document.js';
import { inspectCheckpoint } from '../../../src/checkpoint/inspect.js';
import { Journal } from '../../../src/journal/journal.js';
import { silentLog } from '../../support/silence.js';
import { journalFile } from '../../../src/platform/store/journal-file.js';
import { nodeFiles } from '../../../src/platform/store/node-files.js';
import { acquireInstanceLock } from '../../../src/platform/store/instance-lock.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { stayAwake } from '../../../src/platform/time/stay-awake.js';
import { checkpointRig, facts, list } from '../../support/checkpoint-rig.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../..');
// Alarms do not keep a process alive, and these tests have nothing else that does.
after(stayAwake());
const mounted: string[] = [];
after(() => {
  for (const folder of mounted.reverse()) execFileSync('umount', ['-l', folder]);
});

/** Why real file systems cannot be made here, or false. */
const cannotMount = whyNoMount();

function whyNoMount(): string | false {
  if (process.getuid?.() !== 0) return 'SKIPPED: real full and read-only file systems need root';
  const folder = tempDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'pipe' });
    execFileSync('umount', [folder]);
    return false;
  } catch (failure) {
    return `SKIPPED: this machine does not let root mount a tmpfs: ${String(failure).split('\n')[0] ?? ''}`;
  }
}

function mount(args: readonly string[], folder: string): void {
  execFileSync('mount', [...args, folder]);
  if (!mounted.includes(folder)) mounted.push(folder);
}

const gpu = facts('vendor.com/gpu', 1);
const nic = facts('vendor.com/nic', 2);
/** What a disk refuses is known long before the deadline, however busy the machine is. */
const settings = { writeDeadlineMs: 60_000, listIntervalMs: 10, inlineListBytes: 1024 };

void describe('the checkpoint on a real disk', () => {
  it('survives a life and gives everything back to the next', async () => {
    const folder = `${tempDir()}/state`;
    const { store } = checkpointRig(nodeFiles, folder, systemClock, { settings });
    assert.equal((await store.open()).view.state, 'empty');
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    assert.equal(await store.update((draft) => draft.put(nic)), 'durable');
    store.updateSoon(gpu.name, (draft) => draft.setList(entryKey(gpu), list(200, 1)));
    store.updateSoon(nic.name, (draft) => draft.setList(entryKey(nic), list(50_000, 2)));
    assert.equal(await store.flush(5000), 'durable');
    store.close();
    assert.deepEqual(readdirSync(folder).sort(), ['checkpoint.json', 'checkpoint.json.previous', 'devices']);
    assert.deepEqual(
      ['checkpoint.json', 'devices', `devices/${list(50_000, 2).sha256}`].map((name) =>
        (statSync(`${folder}/${name}`).mode & 0o777).toString(8),
      ),
      ['600', '700', '600'],
    );
    const next = checkpointRig(nodeFiles, folder, systemClock).store;
    assert.equal((await next.open()).view.state, 'ok');
    const [one, two] = [...next.contents.plugins.values()].map((entry) => entry.list);
    assert.ok(one !== undefined && two !== undefined);
    assert.deepEqual(await next.readList(one), list(200, 1).raw);
    assert.deepEqual(await next.readList(two), list(50_000, 2).raw);
    next.close();
  });

  it('of every released format is whole when it is inspected', async () => {
    for (const name of readdirSync(path.join(ROOT, 'test/golden/checkpoint')).filter((file) =>
      file.endsWith('.json'),
    )) {
      const inspection = await inspectCheckpoint(nodeFiles, path.join(ROOT, 'test/golden/checkpoint', name));
      assert.deepEqual([inspection.condition, inspection.problems, inspection.notes], ['whole', [], []]);
      assert.deepEqual(
        inspection.plugins.map((plugin) => plugin.list),
        ['inline', 'none', 'file'],
      );
    }
  });

  it('has its checksum checked by any shell', async () => {
    const file = path.join(ROOT, 'test/golden/checkpoint/format-1.json');
    const [sum = ''] = execFileSync('sh', ['-c', 'head -c -67 "$0" | sha256sum', file], { encoding: 'utf8' }).split(
      ' ',
    );
    assert.equal((JSON.parse(readFileSync(file, 'utf8')) as { sha256: string }).sha256, sum);
  });

  it('on a full disk is told not writable, and is written once there is room', { skip: cannotMount }, async () => {
    const root = tempDir();
    mount(['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs'], root);
    const folder = `${root}/state`;
    const { store, views } = checkpointRig(nodeFiles, folder, systemClock, { settings });
    await store.open();
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    writeFileSync(`${root}/ballast`, Buffer.alloc(1));
    fillUp(`${root}/ballast`);
    assert.equal(await store.update((draft) => draft.put(nic)), 'not-durable');
    assert.equal(store.view().state, 'not-writable');
    assert.match(store.view().reason, /ENOSPC/);
    assert.equal(store.contents.plugins.size, 2);
    const whole = await inspectCheckpoint(nodeFiles, `${folder}/checkpoint.json`);
    assert.deepEqual([whole.condition, whole.plugins.length], ['whole', 1], 'the old generation is as it was');
    rmSync(`${root}/ballast`);
    await eventually('it is written again', () => store.view().state === 'ok');
    assert.equal((await inspectCheckpoint(nodeFiles, `${folder}/checkpoint.json`)).plugins.length, 2);
    assert.deepEqual(
      views.map(({ state }) => state),
      ['ok', 'not-writable', 'ok'],
    );
    store.close();
  });

  it(
    'on a disk that becomes read-only is told not writable, and is written once it is not',
    { skip: cannotMount },
    async () => {
      const root = tempDir();
      mount(['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs'], root);
      const folder = `${root}/state`;
      const { store } = checkpointRig(nodeFiles, folder, systemClock, { settings });
      await store.open();
      assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
      // Busy as long as the file that was written is open: it is closed after its change was answered.
      await eventually('it is read-only', () => (mount(['-o', 'remount,ro'], root), true));
      assert.equal(await store.update((draft) => draft.put(nic)), 'not-durable');
      assert.match(store.view().reason, /EROFS/);
      mount(['-o', 'remount,rw'], root);
      await eventually('it is written again', () => store.view().state === 'ok');
      assert.equal((await inspectCheckpoint(nodeFiles, `${folder}/checkpoint.json`)).plugins.length, 2);
      store.close();
    },
  );

  it(
    'on a read-only mount is read, and neither lock nor events keep a broker from serving',
    { skip: cannotMount },
    async () => {
      const root = tempDir();
      const folder = `${root}/state`;
      const first = checkpointRig(nodeFiles, folder, systemClock, { settings }).store;
      await first.open();
      await first.update((draft) => draft.put(gpu));
      first.close();
      mount(['--bind', root], root);
      mount(['-o', 'remount,ro,bind'], root);
      const { store } = checkpointRig(nodeFiles, folder, systemClock, { settings });
      assert.equal((await store.open()).view.state, 'ok');
      assert.equal(store.contents.plugins.size, 1);
      assert.equal(await store.update((draft) => draft.put(nic)), 'not-durable');
      assert.equal(store.view().state, 'not-writable');
      store.close();
      const journal = new Journal({
        file: journalFile(nodeFiles, `${folder}/events.jsonl`),
        clock: systemClock,
        log: silentLog,
        ownUid: 0,
        userOf: (uid) => uid,
      });
      await journal.open(0);
      journal.record({ type: 'broker', message: 'serving from memory' });
      assert.equal(journal.seq, 1);
      await journal.close(1000);
      const outcome = await acquireInstanceLock(
        folder,
        { waitMs: 0, takeover: false },
        {
          clock: systemClock,
          random: { next: () => 0.5 },
          holder: () => ({ pid: process.pid, phase: 'ready' }),
          onTakeover: () => undefined,
          onWait: () => undefined,
        },
      );
      assert.ok(outcome.kind === 'unavailable', JSON.stringify(outcome));
      assert.match(outcome.reason, /EROFS/);
    },
  );

  it('on a disk without room for large device lists keeps the registrations', { skip: cannotMount }, async () => {
    const root = tempDir();
    mount(['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs'], root);
    const folder = `${root}/state`;
    const { store } = checkpointRig(nodeFiles, folder, systemClock, { settings });
    await store.open();
    await store.update((draft) => draft.put(gpu));
    store.updateSoon(gpu.name, (draft) => draft.setList(entryKey(gpu), list(1_000_000, 1)));
    await eventually('it is told', () => /make room on the disk of/.test(store.view().reason));
    assert.equal(await store.update((draft) => draft.put(nic)), 'durable');
    assert.equal((await inspectCheckpoint(nodeFiles, `${folder}/checkpoint.json`)).plugins.length, 2);
    assert.equal(store.view().state, 'ok');
    await store.update((draft) => draft.setList(entryKey(gpu), list(2000, 2)));
    await eventually('a smaller list sets everything right', () => store.view().reason === '');
    store.close();
  });

  it('with a folder in the place of the file is told, and never fatal', async () => {
    const root = tempDir();
    mkdirSync(`${root}/state/checkpoint.json`, { recursive: true });
    const { store } = checkpointRig(nodeFiles, `${root}/state`, systemClock, { settings });
    const { view } = await store.open();
    assert.match(
      view.reason,
      /cannot be read: EFTYPE: .* is not a regular file.*it is kept as checkpoint\.json\.corrupt-/,
    );
    assert.equal(await store.update((draft) => draft.put(gpu)), 'durable');
    store.close();
  });
});

/** Makes a file as large as the file system lets it be. */
function fillUp(file: string): void {
  for (const size of [16_384, 4096, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch {
      // Full, for pieces of this size.
    }
  }
}
