import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { listening } from '../../../src/platform/grpc/unix-listener.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { dialUnix } from '../../../src/platform/peer/passed-descriptors.js';
import { sendOutOfBand } from '../../support/peer/send-out-of-band.js';
import { tempDir } from '../../support/temp-dir.js';

/** A connection to a listener of ours, or one that we open to another's: our end, and the peer's. */
async function connected(t: TestContext, isOurs: boolean): Promise<{ own: Socket; peer: Socket }> {
  const file = path.join(tempDir(), 'some.sock');
  const server = createServer();
  const accepted = once(server, 'connection').then(([socket]) => socket as Socket);
  if (isOurs) await listening(server, file);
  else await new Promise<void>((resolve) => server.listen(file, resolve));
  const client = isOurs ? createConnection(file) : dialUnix(file);
  await once(client, 'connect');
  const other = await accepted;
  t.after(() => {
    client.destroy();
    other.destroy();
    server.close();
  });
  return isOurs ? { own: other, peer: client } : { own: client, peer: other };
}

describe('octets out of band', { skip: loadLibc() === undefined && 'koffi is not installed' }, () => {
  for (const isOurs of [true, false]) {
    it(`are read in line of a connection that ${isOurs ? 'a listener of ours accepts' : 'we open'}`, async (t) => {
      const { own, peer } = await connected(t, isOurs);
      let read = '';
      own.on('data', (octets: Buffer) => (read += octets.toString()));
      sendOutOfBand(peer);
      peer.end('y');
      await once(own, 'end');
      assert.equal(read, 'xy');
    });
  }
});
