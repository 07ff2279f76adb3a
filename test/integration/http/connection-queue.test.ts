import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { it } from 'node:test';
import { startHealthServer } from '../../../src/platform/http/health-server.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { silentLog } from '../../support/silence.js';

it('the server goes through the queue behind a connection that it closes, for connections of its user', async (t) => {
  const passes: (readonly boolean[])[] = [];
  const peers = {
    uidOfTcp: () => 4001,
    turnAwayMoreTcp: (
      _server: unknown,
      isTurnedAway: (address: string, uid: number | 'nobody' | undefined) => boolean,
    ) => {
      const uids = [4001, 100_001, 4002, 0, 'nobody', undefined] as const;
      passes.push(uids.map((uid) => isTurnedAway('127.0.0.1', uid)));
    },
  };
  const server = startHealthServer(
    { listen: { host: '127.0.0.1', port: 0 }, page: 'off', allowedHosts: [] },
    new Map(),
    new FakeClock(),
    silentLog,
    { told: () => undefined },
    { ownUid: 900, userOf: (uid) => (uid >= 100_000 ? 4001 : uid), peers },
  );
  t.after(() => server?.close());
  const port = await eventually('it listens', () => server?.address?.port);
  let closed = 0;
  const connectMany = async (clients: number): Promise<void> => {
    for (let client = 0; client < clients; client += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).on('close', () => (closed += 1));
      await once(socket, 'connect');
    }
  };
  await connectMany(64 + 128);
  assert.deepEqual(passes, []);
  await connectMany(1);
  await eventually('one is closed', () => closed === 1);
  assert.deepEqual(passes, [[true, true, false, false, false, false]]);
});
