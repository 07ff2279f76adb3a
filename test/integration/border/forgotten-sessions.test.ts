import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import { PluginLink } from '../../../src/platform/grpc/plugin-link.js';
import { DEFAULT_GUARD } from '../../../src/platform/http2/default-guard.js';
import { encodeFrame, FRAME, PREFACE } from '../../../src/platform/http2/frames.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { number32, RawPeer, settings } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';
import { usedBytes } from '../../support/used-memory.js';

const CONNECTIONS = 40;
/** The last ones may still be in registers or caches of the engine. */
const MOST_LEFT = 4;
const CANCEL = 8;

/** GOAWAY with a code; no call was seen. */
function goaway(code: number): Buffer {
  return encodeFrame(FRAME.GOAWAY, 0, 0, Buffer.concat([number32(0), number32(code)]));
}

/** The session ends with an error while SETTINGS of ours are not acknowledged. */
const END = Buffer.concat([settings(), goaway(0), goaway(CANCEL)]);

async function forgotten(connections: readonly WeakRef<object>[]): Promise<void> {
  assert.equal(connections.length, CONNECTIONS);
  await eventually('connections that are over leave the memory', () => {
    usedBytes(); // collects what is unused
    const left = connections.filter((one) => one.deref() !== undefined).length;
    if (left <= MOST_LEFT) return true;
    throw new Error(`${String(left)} of ${String(CONNECTIONS)} are kept`);
  });
}

describe('a connection that ends with an error before SETTINGS are acknowledged', () => {
  it('leaves the memory where we have opened it', async (t) => {
    const socket = path.join(tempDir(), 's');
    const server = createServer((peer) => {
      peer.on('error', () => undefined).resume();
      peer.end(END);
    });
    t.after(() => server.close());
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const links: WeakRef<object>[] = [];
    for (let at = 0; at < CONNECTIONS; at++) {
      await new Promise<void>((resolve) => {
        const link = new PluginLink(socket, socket, { clock: systemClock, guard: () => DEFAULT_GUARD });
        links.push(new WeakRef(link));
        link.open({ ':method': 'POST', ':path': '/t.Echo/Unary' }, (stream) => stream?.on('error', () => undefined));
        link.whenEnded(resolve);
      });
    }
    await forgotten(links);
  });

  it('leaves the memory where a caller has', async (t) => {
    const socket = path.join(tempDir(), 's');
    const door = new GrpcDoor({
      clock: systemClock,
      accept: (stream) => ({ stream, caller: undefined, slowDown: () => undefined, answered: () => undefined }),
      ...{ streams: 8, maxRequestBytes: 65_536 },
    });
    const taken: WeakRef<Socket>[] = [];
    const server = createServer((accepted) => {
      taken.push(new WeakRef(accepted));
      door.take(accepted);
    });
    t.after(() => {
      door.destroy();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    for (let at = 0; at < CONNECTIONS; at++) {
      const peer = new RawPeer(socket);
      peer.write(PREFACE, END);
      peer.socket.end();
      await peer.closed();
    }
    await forgotten(taken);
  });
});
