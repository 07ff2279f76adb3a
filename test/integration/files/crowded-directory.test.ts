import assert from 'node:assert/strict';
import fs, { closeSync, existsSync, mkdirSync, openSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { UnixListener } from '../../../src/platform/grpc/unix-listener.js';
import { KeptSockets } from '../../../src/platform/fs/kept-sockets.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { SocketPlace } from '../../../src/platform/fs/socket-place.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { tempDir } from '../../support/temp-dir.js';

const FILES = 20_000;
const SYNCHRONOUS = ['readdirSync', 'opendirSync', 'openSync', 'lstatSync', 'statSync'] as const;

// A user that may write the directory of a socket of ours decides how many files are in it, and their names.
void describe('a directory that somebody has filled with names of our form', () => {
  let directory = '';
  before(() => {
    directory = tempDir();
    for (const purpose of ['listen', 'kept']) {
      for (let at = 0; at < FILES / 2; at += 1) closeSync(openSync(`${directory}/.pb-${purpose}-${String(at)}`, 'w'));
    }
  });
  after(() => mock.restoreAll());

  const bind = (file: string): Promise<UnixListener> =>
    UnixListener.bind({
      path: file,
      access: { mode: 0o600 },
      clock: systemClock,
      replaces: false,
      onConnection: (socket) => socket.destroy(),
      onError: () => undefined,
      onMovedAside: () => undefined,
    });
  const folders = (): string[] =>
    readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

  void it('is not looked through when a socket is made again in it', async () => {
    const spies = SYNCHRONOUS.map((name) => mock.method(fs, name));
    syncBuiltinESMExports();
    try {
      const listener = await bind(path.join(directory, 'kubelet.sock'));
      listener.publish();
      const calls = spies.reduce((sum, spy) => sum + spy.mock.callCount(), 0);
      assert.ok(calls < 100, `${String(calls)} calls of the file system`);
      listener.close();
    } finally {
      mock.restoreAll();
      syncBuiltinESMExports();
    }
  });

  void it('is searched for leftovers of a dead broker with a pause after each name, and no longer than the place is open', async () => {
    const left = path.join(directory, '.pb-listen-left00');
    mkdirSync(left, 0o700);
    writeFileSync(path.join(left, '.pb-listen'), '');
    utimesSync(left, 0, 0);
    const other = SocketPlace.open(path.join(directory, 'other.sock'));
    const [held] = folders().filter((name) => name !== path.basename(left));
    const pauses = await pausesOfSweep(Infinity);
    assert.deepEqual(folders(), [held], 'a folder that this process holds is no leftover');
    assert.ok(pauses >= FILES, `${String(pauses)} pauses`);
    assert.equal(await pausesOfSweep(3), 3);
    other.close();
  });

  async function pausesOfSweep(closeAfter: number): Promise<number> {
    const place = SocketPlace.open(path.join(directory, 'a.sock'));
    let pauses = 0;
    const pause = (): undefined => {
      pauses += 1;
      if (pauses === closeAfter) place.close();
    };
    await place.sweep(() => Promise.resolve(true), Date.now(), pause);
    place.close();
    return pauses;
  }

  void it('is searched for kept sockets with a pause after each name, and they are found', async () => {
    const server = createServer();
    const file = path.join(directory, 'plugin.sock');
    await new Promise<void>((resolve) => server.listen(file, resolve));
    const pin = pinSocket(file);
    if ('problem' in pin) throw new Error(pin.detail);
    const paths = new SocketPaths([directory], () => false);
    const first = new KeptSockets({ isListening: () => true, paths });
    assert.equal(first.remove(pin), undefined);
    first.close();
    let rests = 0;
    const rest = (): Promise<void> | undefined => {
      rests += 1;
      return rests % 1000 === 0 ? Promise.resolve() : undefined;
    };
    const second = new KeptSockets({ isListening: () => true, paths, rest });
    assert.equal(await second.adopt(directory, { isAwaited: () => false }), undefined);
    assert.ok(rests >= FILES / 2, `${String(rests)} of ${String(FILES)}`);
    assert.equal(existsSync(file), true);
    second.close();
    pin.release();
    server.close();
  });
});
