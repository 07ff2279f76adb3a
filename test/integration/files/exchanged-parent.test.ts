import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { incarnationKey } from '../../../src/model/ids.js';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { KeptSockets } from '../../../src/platform/fs/kept-sockets.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { tempDir } from '../../support/temp-dir.js';

/** How long the attacker has. Version 0.1 was led astray within a second. */
const ATTACK_MS = 2000;
/** How long it may take until the socket is removed once: the directory is a link at most moments. */
const LONGEST_MS = 20_000;

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
    const servers: Server[] = [];
    const pins = await Promise.all(
      ['a.sock', 'b.sock'].map(async (name) => {
        const server = createServer();
        servers.push(server);
        // A closing listener removes the path it was bound to: that must not be one that is exchanged.
        await new Promise<void>((resolve) => server.listen(path.join(root, name), resolve));
        renameSync(path.join(root, name), path.join(own, name));
        const pin = pinSocket(path.join(own, name));
        return 'problem' in pin ? assert.fail(pin.detail) : pin;
      }),
    );
    const [pinned, other] = pins as [PinnedSocket, PinnedSocket];
    const paths = new SocketPaths([root], () => false);
    const kept = new KeptSockets({ isListening: () => true, paths });
    // The socket that is kept beside it keeps the directory pinned and the folder there: each removal is short, and there are many.
    assert.equal(kept.remove(other), undefined);
    const attacker = spawn(process.execPath, [file, '54321', 'parent', own, foreign], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let [tries, removals] = [0, 0];
    try {
      await once(attacker.stdout, 'data');
      const begun = performance.now();
      const isOver = (): boolean => performance.now() - begun > (removals === 0 ? LONGEST_MS : ATTACK_MS);
      // Each removal is a moment at which the broker could be led astray, so one is not the end.
      while (!isOver() && readdirSync(foreign).join() === 'a.sock') {
        tries += 1;
        if (kept.remove(pinned) === undefined) {
          removals += 1;
          assert.equal(kept.putBack(incarnationKey(pinned.incarnation)), true, 'it gets its name back where it had it');
        }
        await turn();
      }
    } finally {
      attacker.kill('SIGKILL');
      kept.close();
      for (const pin of pins) pin.release();
      for (const server of servers) server.close();
    }
    assert.ok(removals > 0 && removals < tries, `both happened: ${String(removals)} of ${String(tries)}`);
    assert.deepEqual(readdirSync(foreign), ['a.sock']);
    assert.equal(readFileSync(path.join(foreign, 'a.sock'), 'utf8'), 'precious');
  });
});
