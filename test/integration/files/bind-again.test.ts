import assert from 'node:assert/strict';
import { lstatSync, readdirSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
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
      await listener.close();
    }
    await worker.terminate();
    assert.deepEqual(readdirSync(directory), ['kubelet.sock']);
  });
});
