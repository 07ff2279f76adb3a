import assert from 'node:assert/strict';
import { createConnection, createServer, Socket } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/kernel/clock.js';
import { PinnedDirectory } from '../../../src/platform/fs/pinned-directory.js';
import { PluginLink } from '../../../src/platform/grpc/plugin-link.js';
import { UnixListener } from '../../../src/platform/grpc/unix-listener.js';
import { encodeFrame, HEAD_BYTES } from '../../../src/platform/http2/frames.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { settings } from '../../support/http2/raw-peer.js';
import { resting } from '../../support/http2/read-pace.js';
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
    const left = old.untilReplaced(1000, new AbortController().signal).then(() => old.close());

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

/** Sends so many octets, each in a write of its own that the other side had time to read. */
async function singly(socket: Socket, octets: number): Promise<void> {
  for (let nth = 0; nth < octets; nth += 1) {
    await new Promise((resolve) => socket.write(Buffer.alloc(1), resolve));
    await turn();
  }
}

describe('a connection that is paused', () => {
  /** Fewer than fill the buffer of the kernel, where each is a piece of its own. */
  const OCTETS = 200;

  it('is not read: octets that the peer sends singly wait in the kernel', async (t) => {
    const file = path.join(tempDir(), 's.sock');
    let accepted: Socket | undefined;
    const listener = await UnixListener.bind({
      path: file,
      access: { mode: 0o600 },
      clock: systemClock,
      replaces: false,
      onConnection: (one) => (accepted = one.on('data', () => one.pause())),
      onError: () => undefined,
      onMovedAside: () => undefined,
    });
    listener.publish();
    const client = createConnection(file);
    t.after(() => {
      client.destroy();
      accepted?.destroy();
      listener.close();
    });
    await singly(client, OCTETS);
    assert.ok((accepted?.bytesRead ?? 0) < OCTETS / 2, `${String(accepted?.bytesRead)} octets were read`);
  });

  it('neither, where the broker opened it', async (t) => {
    const file = path.join(tempDir(), 's.sock');
    let isSent = false;
    let plugin: Socket | undefined;
    const server = createServer((one) => {
      plugin = one.on('error', () => undefined);
      // The begin of a frame that nobody knows; its octets follow.
      const head = encodeFrame(0x42, 0, 0, Buffer.alloc(2 * OCTETS)).subarray(0, HEAD_BYTES);
      one.write(Buffer.concat([settings(), head]));
      void singly(one, OCTETS).then(() => (isSent = true));
    }).listen(file);
    const connect = t.mock.method(Socket.prototype, 'connect');
    const reads = () => resting(() => 60_000);
    const link = new PluginLink(file, file, { clock: systemClock, guard: () => guardSettings, reads });
    t.after(() => {
      link.close();
      plugin?.destroy();
      server.close();
    });
    await eventually('all is sent', () => isSent);
    assert.equal(link.isLost, false);
    const dialled = connect.mock.calls[0]?.this as Socket;
    const read = dialled.bytesRead;
    assert.ok(read > 0 && read < OCTETS / 2, `${String(read)} octets were read`);
  });
});

describe('a listener that takes the place of another one', () => {
  for (const [how, isAtOnce, removals] of [
    ['removes its name first, for those who watch it', false, 1],
    ['leaves no moment without the name where nobody watches it', true, 0],
  ] as const) {
    it(how, async (t) => {
      const file = path.join(tempDir(), 's.sock');
      const bind = (): Promise<UnixListener> =>
        UnixListener.bind({
          path: file,
          access: { mode: 0o600 },
          clock: systemClock,
          replaces: true,
          isAtOnce,
          onConnection: (one) => one.destroy(),
          onError: () => undefined,
          onMovedAside: () => undefined,
        });
      const [old, successor] = [await bind(), await bind()];
      t.after(() => {
        old.close();
        successor.close();
      });
      old.publish();
      const removed = t.mock.method(PinnedDirectory.prototype, 'unlink');
      successor.publish();
      assert.equal(removed.mock.calls.filter(({ arguments: [name] }) => name === 's.sock').length, removals);
      assert.deepEqual([old.isInPlace(), successor.isInPlace()], [false, true]);
    });
  }
});
