import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { PREFACE } from '../../../src/platform/http2/frames.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { settings } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';

/** Connections that the kernel queues for a listener that asks for so many. */
const ROOM = Math.min(4096, Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')));
/** More than any listener of ours has room for. */
const CROWD = ROOM + 76;
/** So that only the kernel's limit is met. */
const MANY = { burst: 10_000, perProcess: 10_000, total: 10_000 };

const cleanup: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const clean of cleanup) await clean();
});

/** Opens a connection and greets as a client does. Tells how it went. */
function greet(socketPath: string): { readonly fate: () => 'open' | 'answered' | 'EAGAIN' | 'lost' } {
  let fate: 'open' | 'answered' | 'EAGAIN' | 'lost' = 'open';
  const socket = createConnection(socketPath, () => socket.write(Buffer.concat([PREFACE, settings()])));
  socket.once('data', () => (fate = 'answered'));
  socket.once('error', ({ message }) => (fate = message.includes('EAGAIN') ? 'EAGAIN' : 'lost'));
  socket.once('close', () => (fate = fate === 'open' ? 'lost' : fate));
  cleanup.push(() => void socket.destroy());
  return { fate: () => fate };
}

async function plugin(broker: BrokerProcess, name: string): Promise<FakePlugin> {
  const socket = path.join(broker.devicePlugins, `${name}.sock`);
  const one = await FakePlugin.start({ socket, resource: `example.com/${name}` });
  cleanup.push(() => one.stop());
  return one;
}

async function brokerWithPlugin(): Promise<BrokerProcess> {
  const broker = new BrokerProcess(tempDir(), { guard: { preface: '60s' }, flood: { connections: MANY } });
  cleanup.push(() => broker.close());
  await broker.start();
  const inside = await plugin(broker, 'inside');
  await inside.register(broker.kubeletSocket);
  await eventually('in', async () => (await broker.allocatable('example.com/inside')) === 2);
  return broker;
}

void describe('a full backlog', { concurrency: true }, () => {
  void it('of a broker that was stopped and goes on: all waiters are served', async () => {
    const broker = await brokerWithPlugin();
    const { pid } = broker;
    assert.ok(pid !== undefined);
    process.kill(pid, 'SIGSTOP');
    const clients = Array.from({ length: CROWD }, () => greet(broker.kubeletSocket));
    const count = (fate: string): number => clients.filter((client) => client.fate() === fate).length;
    await eventually('the kernel refuses some', () => count('EAGAIN') > 0);
    const late = await plugin(broker, 'late');
    await assert.rejects(late.register(broker.kubeletSocket), /EAGAIN/);

    process.kill(pid, 'SIGCONT');
    const areAllServed = (): boolean => count('answered') + count('EAGAIN') === CROWD;
    await eventually('everybody who waited is served', areAllServed, { withinMs: 90_000 });
    assert.ok(count('answered') >= ROOM, `${count('answered')} were served`);
    await late.register(broker.kubeletSocket);
    await eventually('in', async () => (await broker.allocatable('example.com/late')) === 2);
    assert.equal(await broker.allocatable('example.com/inside'), 2);
    assert.equal((await broker.status()).broker.pid, pid);
  });

  void it('of a plugin: its Register is refused with a reason, and the others notice nothing', async () => {
    const broker = await brokerWithPlugin();
    const socket = path.join(broker.devicePlugins, 'stuck.sock');
    // It listens, and never accepts anybody.
    const program = `require('net').createServer().listen({ path: ${JSON.stringify(socket)}, backlog: 1 }, () => process.kill(process.pid, 'SIGSTOP'))`;
    const stuck = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
    const gone = once(stuck, 'exit');
    cleanup.push(() => void stuck.kill('SIGKILL'));
    await eventually('its backlog is full', () => {
      const clients = Array.from({ length: 5 }, () => greet(socket));
      return eventually('a full backlog', () => clients.some(({ fate }) => fate() === 'EAGAIN'), { withinMs: 50 });
    });
    const caller = new FakePlugin({ socket, resource: 'example.com/stuck' });
    await assert.rejects(
      caller.register(broker.kubeletSocket),
      /NO_ANSWER: .*stuck\.sock has a listener whose queue is full: it accepts nobody/,
    );
    assert.equal(await broker.allocatable('example.com/inside'), 2);
    stuck.kill('SIGKILL');
    await gone;
  });
});
