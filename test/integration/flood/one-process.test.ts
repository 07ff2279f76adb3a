import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { after, describe, it } from 'node:test';
import { ConnectionGate } from '../../../src/flood/connection-gate.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { Peers } from '../../../src/platform/peer/peers.js';
import { procStat } from '../../../src/platform/process/proc-stat.js';
import { FloodWorld, FLOOD } from '../../support/flood-world.js';
import { tempDir } from '../../support/temp-dir.js';

const WAITING = 256;

describe('one process that connects in a loop', { skip: loadLibc() === undefined && 'koffi is not installed' }, () => {
  it('has its connections taken from the queue many at once, as soon as it may have no more', async () => {
    const file = path.join(tempDir(), 'queue.sock');
    const world = new FloodWorld();
    const { clock, log, events } = world;
    const budget = world.gate.connections;
    const counted: string[] = [];
    const gate = new ConnectionGate<Socket, never>({
      ...{ clock, log, events, budget, peers: new Peers() },
      ...{ reserve: { hasRoom: () => true }, ownUid: -1, userOf: (uid) => uid },
      reads: () => undefined,
      openBorder: () => assert.fail('it was let in'),
      count: (what) => void counted.push(what),
    });
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const startTime = procStat(process.pid)?.startTime;
    for (let nth = 0; nth < FLOOD.connections.burst; nth += 1) {
      const verdict = budget.admit({ uid, gid, pid: process.pid, startTime, source: 'peercred' });
      assert.ok(verdict.ok);
      verdict.release();
    }
    const server = createServer({ pauseOnConnect: true }, gate.accept);
    server.listen(file);
    await once(server, 'listening');
    const clients = Array.from({ length: WAITING }, () => createConnection(file).on('error', () => undefined));
    after(() => {
      for (const client of clients) client.destroy();
      server.close();
    });
    let turns = 0;
    for (; counted.length < WAITING && turns < 2 * WAITING; turns += 1) await turn();
    assert.deepEqual(counted, Array<string>(WAITING).fill('refused'));
    assert.ok(turns < WAITING / 8, `it took ${String(turns)} turns of the loop`);
    assert.equal(world.counts.get('connections disconnect'), WAITING, 'each is counted');
  });
});
