import assert from 'node:assert/strict';
import { lstatSync, readdirSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { after, describe, it, mock } from 'node:test';
import { Worker } from 'node:worker_threads';
import { PrivateFolder } from '../../../src/platform/fs/private-folder.js';
import { SocketPlace } from '../../../src/platform/fs/socket-place.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { UnixListener } from '../../../src/platform/grpc/unix-listener.js';
import { tempDir } from '../../support/temp-dir.js';

/** Removes every private folder that is empty, as fast as a thread can. */
const REMOVES_FOLDERS = `
  const { readdirSync, rmdirSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  parentPort.postMessage('begins');
  for (;;) {
    for (const name of readdirSync(workerData)) {
      if (!name.startsWith('.pb-listen-')) continue;
      try { rmdirSync(workerData + '/' + name); } catch {}
    }
  }`;

void describe('a listener in a directory that others may write', () => {
  const workers: Worker[] = [];
  after(() => Promise.all(workers.map((one) => one.terminate())));

  void it('is made although somebody removes the private folders that sockets are made in', async () => {
    const directory = tempDir();
    const socket = path.join(directory, 'kubelet.sock');
    const worker = new Worker(REMOVES_FOLDERS, { eval: true, workerData: directory });
    workers.push(worker);
    await once(worker, 'message');
    for (let round = 0; round < 50; round += 1) {
      const listener = await UnixListener.bind({
        path: socket,
        access: { mode: 0o600 },
        clock: systemClock,
        replaces: false,
        onConnection: (connection) => connection.destroy(),
        onError: () => undefined,
        onMovedAside: () => undefined,
      });
      listener.publish();
      assert.ok(listener.isInPlace());
      assert.equal(lstatSync(socket).mode & 0o777, 0o600);
      listener.close();
    }
    await worker.terminate();
    assert.deepEqual(readdirSync(directory), ['kubelet.sock']);
  });

  void it('leaves the folder of another program that is about to listen where it is', async () => {
    const directory = tempDir();
    const [ours, theirs] = ['a', 'b'].map((name) => SocketPlace.open(path.join(directory, `${name}.sock`)));
    assert.ok(ours !== undefined && theirs !== undefined);
    const folders = readdirSync(directory);
    // Only this process knows that; another one would not.
    const isHeld = mock.method(PrivateFolder, 'isHeld', () => false);
    const sweep = (nowMs: number): Promise<void> =>
      ours.sweep(
        () => Promise.resolve(true),
        nowMs,
        () => undefined,
      );
    await sweep(Date.now());
    assert.deepEqual(readdirSync(directory), folders);
    await sweep(Date.now() + 3_600_000);
    assert.deepEqual(readdirSync(directory), [], 'an hour later nobody is about to listen');
    isHeld.mock.restore();
    for (const place of [ours, theirs]) place.close();
  });
});
