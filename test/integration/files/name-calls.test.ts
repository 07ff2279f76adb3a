import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import {
  boundNameCalls,
  isNameCallLate,
  linkSync,
  makeDirectories,
  mkdtempSync,
  opendirSync,
  openSync as openName,
  O_PATH,
  realpathSync,
  renameSync,
  rmdirSync,
  statusOf,
  statusOfName,
  symlinkSync,
  unlinkSync,
  mkdirSync as makeName,
} from '../../../src/platform/fs/name-calls.js';
import { ownUid } from '../../../src/platform/process/own-uid.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

/** Milliseconds: they pass when a test says so. */
const time = { now: 0 };
const UNANSWERED = { code: 'ETIMEDOUT' };

// For this process, as the daemon does it.
boundNameCalls(() => time.now, { ownUid: ownUid(), userOf: (uid) => (uid >= 100_000 ? 54321 : uid) });

/**
 * A directory with a FIFO: to open that waits in the kernel, for a writer, as a name waits in a directory whose lock somebody holds.
 */
function slowDirectory(): { readonly at: string; hang(): void; letGo(): Promise<void> } {
  const at = tempDir();
  const fifo = `${at}/fifo`;
  execFileSync('mkfifo', [fifo]);
  return {
    at,
    hang: () => assert.throws(() => openName(fifo, constants.O_RDONLY | constants.O_CREAT, 0o600), UNANSWERED),
    letGo: async () => {
      closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
      await eventually('the call has returned', () => !isNameCallLate());
    },
  };
}

describe('calls about names', () => {
  it('say where a path really leads, whatever its name is', () => {
    const at = tempDir();
    for (const name of ['plain', 'gone (deleted)']) {
      makeName(`${at}/${name}`, 0o700);
      symlinkSync(name, `${at}/to-${name}`);
      assert.equal(realpathSync(`${at}/to-${name}/.`), `${at}/${name}`);
    }
    symlinkSync('loop', `${at}/loop`);
    assert.throws(() => realpathSync(`${at}/loop`), { code: 'ELOOP' });
    assert.throws(() => realpathSync(`${at}/none`), { code: 'ENOENT' });
  });

  it('do what those of node:fs do, in a thread and by the cache of the kernel', () => {
    const at = tempDir();
    assert.equal(realpathSync(`${at}/.`), at);
    makeName(`${at}/a`, 0o700);
    makeDirectories(`${at}/a/b/c`, 0o750);
    makeDirectories(`${at}/a`, 0o750);
    writeFileSync(`${at}/a/file`, 'text');
    linkSync(`${at}/a/file`, `${at}/a/second`);
    symlinkSync('file', `${at}/a/link`);
    renameSync(`${at}/a/second`, `${at}/a/third`);
    assert.equal(statusOf(`${at}/a/link`)?.isFile(), true);
    assert.equal(statusOfName(`${at}/a/link`)?.isSymbolicLink(), true);
    assert.equal(statusOf(`${at}/a/second`), undefined);
    assert.equal(statusOf(`${at}/a/file/below`), undefined);
    assert.equal(statusOf(`${at}/a/third`)?.nlink, 2n);
    unlinkSync(`${at}/a/third`);
    rmdirSync(`${at}/a/b/c`);
    const made = mkdtempSync(`${at}/a/made-`);
    assert.deepEqual(readdirSync(`${at}/a`).sort(), ['b', 'file', 'link', made.slice(at.length + 3)]);
    assert.throws(() => rmdirSync(`${at}/a`), { code: 'ENOTEMPTY', syscall: 'rmdir' });
    assert.throws(() => openName(`${at}/none`, O_PATH), { code: 'ENOENT' });
    const fd = openName(`${at}/a`, O_PATH);
    assert.equal(statusOf(`/proc/self/fd/${String(fd)}/file`)?.size, 4n);
    assert.equal(statusOf(`/proc/self/fd/${String(fd)}`)?.isDirectory(), true);
    closeSync(fd);
  });

  it('read a directory of any length, a part at a time', () => {
    const at = tempDir();
    const names = Array.from({ length: 300 }, (_, index) => `${'ä"\\'.repeat(20)}${String(index)}`);
    for (const name of names) writeFileSync(`${at}/${name}`, '');
    mkdirSync(`${at}/folder`);
    const folder = opendirSync(at);
    const found: string[] = [];
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      assert.equal(entry.isDirectory(), entry.name === 'folder');
      assert.equal(entry.isSocket() || entry.isSymbolicLink(), false);
      found.push(entry.name);
    }
    assert.equal(folder.readSync(), null);
    folder.closeSync();
    assert.deepEqual(found.sort(), [...names, 'folder'].sort());
    assert.throws(() => opendirSync(`${at}/none`), { code: 'ENOENT' });
    const handle = openName(at, O_PATH | constants.O_DIRECTORY);
    const through = opendirSync(`/proc/self/fd/${String(handle)}/.`);
    closeSync(handle);
    let count = 0;
    while (through.readSync() !== null) count += 1;
    through.closeSync();
    assert.equal(count, 301, 'the way there is closed, the directory is not');
  });

  it('that hang are given up: their directory does not answer until they have returned, others do', async () => {
    const [slow, other] = [slowDirectory(), tempDir()];
    const before = openName(`${other}/kept`, constants.O_CREAT | constants.O_WRONLY, 0o600);
    const folder = opendirSync(other);
    slow.hang();
    assert.equal(isNameCallLate(), true);
    assert.throws(() => makeName(`${slow.at}/new`, 0o700), UNANSWERED);
    assert.throws(() => folder.readSync(), UNANSWERED, 'the thread that has it open hangs');
    folder.closeSync();
    makeName(`${other}/new`, 0o700);
    // What the kernel knows is seen even so: a living plugin does not seem to have gone.
    assert.equal(statusOfName(`${slow.at}/fifo`)?.isFIFO(), true);
    const descriptors = readdirSync('/proc/self/fd').length;
    await slow.letGo();
    assert.ok(readdirSync('/proc/self/fd').length <= descriptors, 'what was opened for nobody is closed');
    assert.equal(fstatSync(before).isFile(), true, 'what its thread had opened before stays open');
    closeSync(before);
    makeName(`${slow.at}/new`, 0o700);
    assert.ok(existsSync(`${slow.at}/new`));
  });

  it('take a second and then a fiftieth of the time in all directories of root and of our own together', async () => {
    const [slow, ...others] = Array.from({ length: 5 }, slowDirectory);
    assert.ok(slow !== undefined);
    time.now = 100_000;
    for (const one of [slow, ...others]) {
      one.hang();
      await one.letGo();
    }
    assert.throws(() => makeName(`${slow.at}/new`, 0o700), UNANSWERED, 'a second of it was used up');
    makeName(`${tempDir()}/new`, 0o700);
    time.now += 5000;
    makeName(`${slow.at}/new`, 0o700);
    for (let calls = 0; calls < 4; calls++) {
      slow.hang();
      await slow.letGo();
    }
    assert.throws(() => rmdirSync(`${slow.at}/new`), UNANSWERED);
    time.now += 3000;
    rmdirSync(`${slow.at}/new`);
  });

  it('take less of it in all directories of an ordinary user', { skip: ownUid() !== 0 }, async () => {
    const [one, other] = [slowDirectory(), slowDirectory()];
    chownSync(one.at, 54321, 54321);
    chownSync(other.at, 100_007, 100_007); // of its range
    const fds = [one, other].map(({ at }) => openSync(at, constants.O_RDONLY | constants.O_DIRECTORY));
    const [first, second] = fds.map((fd) => `/proc/self/fd/${String(fd)}`);
    time.now = 1_000_000;
    for (let calls = 0; calls < 5; calls++) {
      const fifo = `${first ?? ''}/fifo`;
      assert.throws(() => openName(fifo, constants.O_RDONLY | constants.O_CREAT, 0o600), UNANSWERED);
      await one.letGo();
    }
    assert.throws(() => makeName(`${second ?? ''}/new`, 0o700), UNANSWERED, 'half a second of it was used up');
    makeName(`${other.at}/elsewhere`, 0o700);
    time.now += 10_000;
    makeName(`${second ?? ''}/new`, 0o700);
    assert.throws(() => openName(`${first ?? ''}/fifo`, constants.O_RDONLY | constants.O_CREAT, 0o600), UNANSWERED);
    await one.letGo();
    assert.throws(() => rmdirSync(`${second ?? ''}/new`), UNANSWERED);
    time.now += 20_000;
    rmdirSync(`${second ?? ''}/new`);
    fds.forEach((fd) => closeSync(fd));
  });
});
