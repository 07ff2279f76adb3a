import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { loadNative } from '../../../src/platform/peer/native.js';
import { Peers, startTimeOf } from '../../../src/platform/peer/peers.js';
import { tempDir } from '../../support/temp-dir.js';

function pinned(file: string): PinnedSocket {
  const pin = pinSocket(file);
  if ('problem' in pin) throw new Error(pin.problem);
  return pin;
}

const CONNECT =
  "const s=require('net').connect(process.argv[1]);s.on('connect',()=>process.stdout.write('up'));process.stdin.on('end',()=>process.exit());process.stdin.resume()";

void describe('peers', () => {
  const folder = tempDir();
  const file = path.join(folder, 's.sock');
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket));
  server.listen(file);
  after(() => {
    for (const socket of accepted) socket.destroy();
    server.close();
  });
  const native = loadNative();
  const skip = native === undefined ? 'koffi is not installed: only the fallback can be tested here' : false;
  const peers = new Peers(native);

  void it('names the process behind a connection by uid, gid, pid and start time', { skip }, async () => {
    const asOther = process.getuid?.() === 0 ? { uid: 54321, gid: 12345 } : {};
    const child = spawn(process.execPath, ['-e', CONNECT, file], { ...asOther, stdio: ['pipe', 'pipe', 'inherit'] });
    chmodSync(folder, 0o755);
    chmodSync(file, 0o777);
    await once(child.stdout, 'data');
    const caller = peers.peerOf(accepted.at(-1) as Socket);
    assert.equal(caller?.pid, child.pid);
    assert.equal(caller?.uid, asOther.uid ?? process.getuid?.());
    assert.equal(caller?.gid, asOther.gid ?? process.getgid?.());
    assert.match(caller?.startTime ?? '', /^\d+$/);
    assert.equal(caller?.source, 'peercred');
    child.stdin.end();
    await once(child, 'exit');
  });

  void it('names the process that listens, without waiting', { skip }, () => {
    const socket = pinned(file);
    assert.deepEqual(peers.listenerOf(socket), { uid: process.getuid?.(), gid: process.getgid?.(), pid: process.pid });
    socket.release();
  });

  void it('says that nobody listens on the socket of a dead process', { skip }, async () => {
    const dead = path.join(folder, 'dead.sock');
    const child = spawn(process.execPath, [
      '-e',
      "require('net').createServer().listen(process.argv[1],()=>process.kill(process.pid,9))",
      dead,
    ]);
    await once(child, 'exit');
    const socket = pinned(dead);
    assert.deepEqual(peers.listenerOf(socket), { error: 'ECONNREFUSED' });
    socket.release();
  });

  void it('names the owner of the file when the queue of the listener is full', { skip }, async () => {
    const full = path.join(folder, 'full.sock');
    const child = spawn(
      process.execPath,
      [
        '-e',
        "require('net').createServer().listen({path:process.argv[1],backlog:1},()=>{process.stdout.write('up');setTimeout(()=>process.kill(process.pid,'SIGSTOP'),1)})",
        full,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await once(child.stdout, 'data');
    const waiting: Socket[] = [];
    for (let i = 0; i < 4; i += 1) waiting.push(createConnection(full).on('error', () => undefined));
    const socket = pinned(full);
    const facts = peers.listenerOf(socket);
    assert.equal('uid' in facts ? facts.uid : undefined, process.getuid?.());
    socket.release();
    for (const one of waiting) one.destroy();
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  void it('falls back to the owner of the socket file without koffi', () => {
    const missing = loadNative(() => {
      throw new Error('not installed');
    });
    assert.equal(missing, undefined);
    const without = new Peers(missing);
    const socket = pinned(file);
    assert.equal(without.isExact, false);
    assert.deepEqual(without.listenerOf(socket), { uid: process.getuid?.(), gid: undefined, pid: undefined });
    assert.equal(without.peerOf(accepted[0] as Socket), undefined);
    socket.release();
  });

  void it('gives a process a start time of its own, and none to a dead pid', () => {
    assert.match(startTimeOf(process.pid) ?? '', /^\d+$/);
    assert.equal(startTimeOf(2 ** 22 + 1), undefined);
  });
});
