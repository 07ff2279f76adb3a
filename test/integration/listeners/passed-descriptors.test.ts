import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { dialUnix } from '../../../src/platform/peer/passed-descriptors.js';
import { UnixListener } from '../../../src/platform/grpc/unix-listener.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { passDescriptor } from '../../support/peer/pass-descriptor.js';
import { refusesNone } from '../../support/peer/refuses-descriptors.js';
import { tempDir } from '../../support/temp-dir.js';

const skip = refusesNone();

/** A plain server at a path, which hands over its connections. */
async function served(t: TestContext, file: string): Promise<() => Promise<Socket>> {
  const server = createServer();
  const accepted = once(server, 'connection').then(([socket]) => socket as Socket);
  server.listen(file);
  t.after(() => server.close());
  await once(server, 'listening');
  return () => accepted;
}

describe('descriptors that a peer passes', () => {
  it('are taken by no connection to a listener of ours', { skip }, async (t) => {
    const file = path.join(tempDir(), 'ours.sock');
    const listener = await UnixListener.bind({
      path: file,
      access: { mode: 0o600 },
      clock: systemClock,
      replaces: false,
      onConnection: (socket) => socket.on('data', (octets: Buffer) => socket.write(octets)).resume(),
      onError: () => undefined,
      onMovedAside: () => undefined,
    });
    t.after(() => listener.close());
    listener.publish();
    const client = createConnection(file);
    t.after(() => client.destroy());
    await once(client, 'connect');
    assert.equal(passDescriptor(client, 0), 'EPERM');
    client.write('works');
    assert.deepEqual(await once(client, 'data'), [Buffer.from('works')]);
  });

  it('are taken by no connection that we open', { skip }, async (t) => {
    const file = path.join(tempDir(), 'theirs.sock');
    const accepted = await served(t, file);
    const client = dialUnix(file, { allowHalfOpen: false });
    t.after(() => client.destroy());
    await once(client, 'connect');
    const peer = await accepted();
    t.after(() => peer.destroy());
    assert.equal(passDescriptor(peer, 0), 'EPERM');
  });
});

describe('a connection that we open', () => {
  it('carries octets both ways, and ends with its peer', async (t) => {
    const file = path.join(tempDir(), 'theirs.sock');
    const accepted = await served(t, file);
    const client = dialUnix(file, { allowHalfOpen: false, highWaterMark: 1 });
    await once(client, 'connect');
    const peer = await accepted();
    client.write('to');
    assert.deepEqual(await once(peer, 'data'), [Buffer.from('to')]);
    peer.end('fro');
    assert.deepEqual(await once(client, 'data'), [Buffer.from('fro')]);
    await once(client, 'close');
  });

  it('says why it could not be made', async () => {
    const file = path.join(tempDir(), 'nobody.sock');
    const failure = await new Promise<NodeJS.ErrnoException>((resolve) => dialUnix(file).once('error', resolve));
    assert.equal(failure.code, 'ENOENT');
  });
});
