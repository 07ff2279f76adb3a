import { after, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer, Socket, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { chmodSync, closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { ownerOf } from '../../../src/platform/http/http-peer.js';
import { Peers } from '../../../src/platform/peer/peers.js';
import { procStat } from '../../../src/platform/process/proc-stat.js';
import { UNKNOWN_USER } from '../../../src/model/ids.js';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

const folder = tempDir();
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function listening(name: string, onSocket: (socket: Socket) => void, backlog?: number): Promise<string> {
  const file = path.join(folder, name);
  const server = createServer({ pauseOnConnect: true }, onSocket);
  servers.push(server);
  server.listen({ path: file, ...(backlog === undefined ? {} : { backlog }) });
  await once(server, 'listening');
  return file;
}

function pinned(file: string): PinnedSocket {
  const pin = pinSocket(file);
  assert.ok(!('problem' in pin));
  return pin;
}

const self = { uid: process.getuid?.(), gid: process.getgid?.(), pid: process.pid };
const hidden = (): undefined => undefined;

describe('the caller of a connection', { skip: loadLibc() === undefined && 'koffi is not installed' }, () => {
  it('is this very process where it connects to itself, with its start time', async () => {
    const peers = new Peers();
    const accepted: Socket[] = [];
    const file = await listening('self', (socket) => accepted.push(socket));
    const client = createConnection(file);
    const socket = await eventually('an accepted connection', () => accepted[0]);
    assert.deepEqual(peers.peerOf(socket), {
      ...self,
      startTime: procStat(process.pid)?.startTime,
      source: 'peercred',
    });
    assert.match(procStat(process.pid)?.startTime ?? '', /^\d+$/);
    assert.deepEqual(peers.peerOf(client)?.pid, process.pid);
    client.destroy();
    socket.destroy();
    await once(socket, 'close');
    assert.equal(peers.peerOf(socket), undefined);
  });

  it('is a user that nobody knows where our user namespace has none of it', async () => {
    const peers = new Peers(undefined, self.uid);
    const accepted: Socket[] = [];
    const file = await listening('unmapped', (socket) => accepted.push(socket));
    const client = createConnection(file);
    const socket = await eventually('an accepted connection', () => accepted[0]);
    assert.deepEqual([peers.peerOf(socket)?.uid, peers.uidOf(socket)], [UNKNOWN_USER, UNKNOWN_USER]);
    const pin = pinned(file);
    for (const one of [peers, new Peers(hidden, self.uid)]) {
      const listener = one.listenerOf(pin);
      assert.ok('uid' in listener);
      assert.equal(listener.uid, UNKNOWN_USER);
    }
    pin.release();
    client.destroy();
    socket.destroy();
  });

  it(
    'is another process, with another uid, where one connects',
    { skip: self.uid !== 0 && 'needs root to start a process of another uid' },
    async () => {
      chmodSync(folder, 0o755);
      const accepted: Socket[] = [];
      const file = await listening('other', (socket) => accepted.push(socket));
      chmodSync(file, 0o666);
      const program = `require('net').connect(${JSON.stringify(file)}).on('error', () => {}).resume()`;
      const child = spawn(process.execPath, ['-e', program], { uid: 54321, gid: 12345, stdio: 'ignore' });
      const socket = await eventually('an accepted connection', () => accepted[0]);
      const caller = new Peers().peerOf(socket);
      assert.deepEqual([caller?.uid, caller?.gid, caller?.pid], [54321, 12345, child.pid]);
      assert.equal(caller?.startTime, procStat(child.pid ?? 0)?.startTime);
      socket.destroy();
      child.kill();
    },
  );

  it('is known without its start time after its process has ended', async () => {
    const accepted: Socket[] = [];
    const file = await listening('ended', (socket) => accepted.push(socket));
    const program = `require('net').connect(${JSON.stringify(file)}, () => process.exit(0))`;
    const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
    await once(child, 'exit');
    const socket = await eventually('an accepted connection', () => accepted[0]);
    const caller = new Peers().peerOf(socket);
    assert.deepEqual([caller?.pid, caller?.startTime], [child.pid, undefined]);
    socket.destroy();
  });
});

describe(
  'the user at the other end of a TCP connection',
  { skip: loadLibc() === undefined && 'koffi is not installed' },
  () => {
    /** An accepted connection of a client at this address. */
    const connected = async (host: string): Promise<{ client: Socket; socket: Socket }> => {
      const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
      servers.push(server);
      server.listen(0, host);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = createConnection({ host: host === '::' ? '127.0.0.1' : host, port, allowHalfOpen: true });
      const [socket] = await accepted;
      return { client, socket };
    };
    const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

    for (const host of ['127.0.0.1', '127.1.2.3', '::', '::1']) {
      const skip = host.includes(':') && !hasIpv6 && 'this machine has no IPv6';
      it(`is its own at ${host}, as long as its process has it open`, { skip }, async () => {
        const { client, socket } = await connected(host);
        const peers = new Peers();
        assert.equal(peers.uidOfTcp(socket), self.uid);
        client.end();
        await once(client, 'finish');
        assert.equal(peers.uidOfTcp(socket), self.uid, 'half closed');
        client.destroy();
        await eventually('closed', () => peers.uidOfTcp(socket) === 'nobody');
        socket.destroy();
      });
    }

    it('is another one of another process', { skip: self.uid !== 0 && 'needs root to start one' }, async () => {
      const server = createServer({ pauseOnConnect: true });
      servers.push(server);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const program = `require('net').connect(${String(port)}, '127.0.0.1').on('error', () => {}).resume()`;
      const child = spawn(process.execPath, ['-e', program], { uid: 54321, gid: 12345, stdio: 'ignore' });
      const [socket] = await accepted;
      assert.equal(new Peers().uidOfTcp(socket), 54321);
      socket.destroy();
      child.kill();
    });

    for (const host of ['127.0.0.1', '::', '::1']) {
      const skip = host.includes(':') && !hasIpv6 && 'this machine has no IPv6';
      it(
        `says which of the connections in the queue at ${host} are closed, and the others are taken`,
        { skip },
        async (t) => {
          const server = createServer({ allowHalfOpen: true });
          servers.push(server);
          server.listen(0, host);
          await once(server, 'listening');
          const { port } = server.address() as AddressInfo;
          const asked: (readonly [address: string, uid: number | 'nobody' | undefined])[] = [];
          const taken: Socket[] = [];
          const peers = new Peers();
          let [isGoingThrough, askedWithin] = [false, 0];
          server.on('connection', (socket: Socket) => {
            taken.push(socket.on('error', () => undefined));
            const [isWithin, before] = [isGoingThrough, asked.length];
            isGoingThrough = true;
            peers.turnAwayMoreTcp(server, (...about) => asked.push(about) % 3 !== 0);
            isGoingThrough = isWithin;
            if (isWithin) askedWithin += asked.length - before;
          });
          let closed = 0;
          const clients = Array.from({ length: 31 }, () =>
            createConnection({ host: host === '::' ? '127.0.0.1' : host, port }).on('close', () => (closed += 1)),
          );
          for (const client of clients) client.on('error', () => undefined).resume();
          t.after(() => [...taken, ...clients].forEach((socket) => socket.destroy()));
          await eventually('the queue is gone through', () => closed + taken.length === 31 && closed > 0);
          assert.equal(askedWithin, 0, 'one pass at a time');
          assert.equal(closed, asked.length - Math.floor(asked.length / 3));
          const [{ remoteAddress } = new Socket()] = taken;
          assert.ok(
            asked.every(([address, uid]) => ownerOf(address) === ownerOf(remoteAddress ?? '') && uid === self.uid),
          );
          assert.ok(taken.every(({ allowHalfOpen }) => allowHalfOpen));
        },
      );
    }

    it('is not to be known without koffi, nor of a connection that is over', async () => {
      const { client, socket } = await connected('127.0.0.1');
      assert.equal(new Peers(hidden).uidOfTcp(socket), undefined);
      socket.destroy();
      client.destroy();
      assert.equal(new Peers().uidOfTcp(new Socket()), undefined);
      const server = createServer();
      new Peers(hidden).turnAwayMoreTcp(server, () => true);
      new Peers().turnAwayMoreTcp(server, () => true);
      // One that was taken out of the queue is no server's.
      new Peers().turnAwayMore(new Socket(), () => true);
    });
  },
);

describe('the listener of a socket', { skip: loadLibc() === undefined && 'koffi is not installed' }, () => {
  it('is the process that listens on the pinned file, even after it was renamed or removed', async () => {
    const file = await listening('pin', (socket) => socket.destroy());
    const pin = pinned(file);
    assert.deepEqual(new Peers().listenerOf(pin), self);
    unlinkSync(file);
    assert.deepEqual(new Peers().listenerOf(pin), self);
    pin.release();
  });

  it('is nobody where the socket file is a leftover', async () => {
    const file = path.join(folder, 'leftover');
    const program = `require('net').createServer().listen(${JSON.stringify(file)}, () => process.kill(process.pid, 'SIGKILL'))`;
    await once(spawn(process.execPath, ['-e', program], { stdio: 'ignore' }), 'exit');
    const pin = pinned(file);
    assert.deepEqual(new Peers().listenerOf(pin), { error: 'ECONNREFUSED' });
    assert.deepEqual([new Peers().isListening(file), new Peers(hidden).isListening(file)], [false, undefined]);
    pin.release();
  });

  it('that accepts nobody is told as such, without waiting for it', async () => {
    const file = await listening('full', (socket) => socket.destroy(), 1);
    const pin = pinned(file);
    const peers = new Peers();
    const seen = Array.from({ length: 10 }, () => peers.listenerOf(pin));
    assert.deepEqual(seen.at(-1), { error: 'EAGAIN' });
    assert.equal(peers.isListening(file), true);
    assert.deepEqual(seen[0], self);
    pin.release();
  });

  it('leaves no descriptor behind, with any outcome', async () => {
    const libc = loadLibc();
    assert.ok(libc);
    const file = await listening('count', (socket) => socket.destroy());
    writeFileSync(path.join(folder, 'plain'), '');
    const outcomes = [
      [file, 'pid'],
      [path.join(folder, 'missing'), 'ENOENT'],
      [path.join(folder, 'plain'), 'ECONNREFUSED'],
      [path.join(folder, 'x'.repeat(200)), 'ENAMETOOLONG'],
    ] as const;
    const nextDescriptor = (): number => {
      const fd = openSync('/dev/null', 'r');
      closeSync(fd);
      return fd;
    };
    const before = nextDescriptor();
    for (const [target, expected] of outcomes) {
      const found = libc.listenerAt(target);
      if ('error' in found) assert.equal(found.error, expected);
      else assert.equal(expected, 'pid');
    }
    assert.equal(nextDescriptor(), before);
  });
});

describe('without koffi', () => {
  it('a caller is unknown, and the owner of the socket file stands in for its listener', async () => {
    const peers = new Peers(hidden);
    const accepted: Socket[] = [];
    const file = await listening('hidden', (socket) => accepted.push(socket));
    const client = createConnection(file);
    const socket = await eventually('an accepted connection', () => accepted[0]);
    const pin = pinned(file);
    assert.equal(peers.isExact, false);
    assert.equal(peers.peerOf(socket), undefined);
    assert.deepEqual(peers.listenerOf(pin), { uid: self.uid, gid: undefined, pid: undefined });
    pin.release();
    client.destroy();
    socket.destroy();
  });

  it('it is looked for once', () => {
    let tries = 0;
    const peers = new Peers(() => {
      tries++;
      return undefined;
    });
    assert.deepEqual([peers.isExact, peers.isExact, tries], [false, false, 1]);
  });
});
