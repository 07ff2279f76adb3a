import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import type { Clock } from '../../../src/kernel/clock.js';
import { UnixListener } from '../../../src/platform/grpc/unix-listener.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('a listener whose path leads to its successor', () => {
  const cleanup: (() => void)[] = [];
  after(() => cleanup.forEach((clean) => clean()));

  it('accepts the connections that were made before, and then closes', async () => {
    const socket = path.join(tempDir(), 'broker.sock');
    const alarms: (() => void)[] = [];
    const clock: Clock = {
      wall: () => 0,
      mono: () => 0,
      alarm: (_delayMs, ring) => {
        alarms.push(ring);
        return { cancel: () => undefined };
      },
    };
    let accepted = 0;
    const bind = (onConnection: () => void, of: Clock, replaces: boolean): Promise<UnixListener> =>
      UnixListener.bind({
        path: socket,
        access: { mode: 0o600 },
        clock: of,
        replaces,
        onConnection: (one) => {
          onConnection();
          one.destroy();
        },
        onError: () => undefined,
        onMovedAside: () => undefined,
      });
    const old = await bind(() => (accepted += 1), clock, false);
    old.publish();
    const successor = await bind(() => undefined, systemClock, true);
    cleanup.push(() => successor.close());
    const left = old.untilReplaced(1000).then(() => old.close());

    // All in one turn: the kernel has queued the client, and the old listener could not accept it yet.
    let failure: Error | undefined;
    const client = createConnection(socket);
    client.once('error', (error) => (failure = error));
    successor.publish();
    alarms.shift()?.();
    for (let step = 0; step < 20; step += 1) await Promise.resolve();

    await eventually('it is accepted', () => accepted === 1 || failure !== undefined);
    alarms.shift()?.();
    await left;
    assert.deepEqual([accepted, failure], [1, undefined]);
  });
});
