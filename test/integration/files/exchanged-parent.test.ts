import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { KeptSockets } from '../../../src/platform/fs/kept-sockets.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { tempDir } from '../../support/temp-dir.js';

/** How long the attacker has. Version 0.1 was led astray within a second. */
const ATTACK_MS = 2000;

void describe('a socket in a directory whose owner exchanges it for a link', () => {
  void it('is never taken away by a name in another directory', async () => {
    const root = tempDir();
    chmodSync(root, 0o777);
    const [own, foreign] = [path.join(root, 'own'), path.join(root, 'foreign')];
    mkdirSync(own);
    mkdirSync(foreign);
    chmodSync(own, 0o777);
    writeFileSync(path.join(foreign, 'a.sock'), 'precious');
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'name-exchanger.js');
    const server = createServer();
    // A closing listener removes the path it was bound to: that must not be one that is exchanged.
    await new Promise<void>((resolve) => server.listen(path.join(root, 'bound'), resolve));
    renameSync(path.join(root, 'bound'), path.join(own, 'a.sock'));
    const pinned = pinSocket(path.join(own, 'a.sock'));
    assert.ok(!('problem' in pinned));
    const paths = new SocketPaths([root], () => false);
    const kept = new KeptSockets({ isListening: () => true, paths });
    const attacker = spawn(process.execPath, [file, '54321', 'parent', own, foreign], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(attacker.stdout, 'data');
      const until = performance.now() + ATTACK_MS;
      let isRemoved = false;
      while (!isRemoved && performance.now() < until && readdirSync(foreign).join() === 'a.sock') {
        isRemoved = kept.remove(pinned) === undefined;
        if (!isRemoved) await turn();
      }
    } finally {
      attacker.kill('SIGKILL');
      kept.close();
      pinned.release();
      server.close();
    }
    assert.deepEqual(readdirSync(foreign), ['a.sock']);
    assert.equal(readFileSync(path.join(foreign, 'a.sock'), 'utf8'), 'precious');
  });
});
