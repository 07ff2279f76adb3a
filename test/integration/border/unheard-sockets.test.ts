import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Listener } from '../../../src/model/ids.js';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { CallFailed } from '../../../src/platform/grpc/plugin-client.js';
import { registrationClient } from '../../../src/platform/grpc/registration-client.js';
import { Peers } from '../../../src/platform/peer/peers.js';
import { deadSockets } from '../../support/dead-sockets.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { FakeClock } from '../../support/fake-clock.js';
import { guarding } from '../../support/guarding.js';
import { tempDir } from '../../support/temp-dir.js';

/** A directory may be full of them, and a channel costs a thousand times what a question to the kernel does. */
void describe('a registration socket to which we cannot connect', () => {
  /** Asks it for its name. @returns why that failed, and whether a channel was made: a call through one has a deadline. */
  async function ask(socket: string, listenerOf: (pin: PinnedSocket) => Listener): Promise<[CallFailed, boolean]> {
    const clock = new FakeClock();
    const pin = pinSocket(socket);
    assert.ok(!('problem' in pin));
    const talk = registrationClient({ ...guarding, clock }, listenerOf).open(pin, new AbortController().signal);
    pin.release();
    const asked = talk.getInfo(20_000).catch((thrown: unknown) => thrown);
    const hasChannel = clock.pending > 0;
    const failure = await asked;
    talk.close();
    assert.ok(failure instanceof CallFailed);
    return [failure, hasChannel];
  }

  /** Somebody listens, and hangs up. @returns also how many connections there were */
  async function askListening(error: string): Promise<[CallFailed, boolean, number]> {
    const socket = path.join(tempDir(), 'x.sock');
    let connections = 0;
    const server = createServer((accepted) => {
      connections += 1;
      accepted.destroy();
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const [failure, hasChannel] = await ask(socket, () => ({ error }));
    await new Promise<void>((resolve) => server.close(() => resolve()));
    return [failure, hasChannel, connections];
  }

  /** Speaks to a plugin that answers; the kernel says what is given about who listens there. */
  async function talkTo(t: TestContext, ...listeners: Listener[]) {
    const plugin = await FakePlugin.start({
      socket: path.join(tempDir(), 'r.sock'),
      resource: 'example.com/gpu',
      devices: [],
      door: 'watcher',
    });
    const pin = pinSocket(plugin.socket);
    assert.ok(!('problem' in pin));
    const listenerOf = (): Listener => listeners.shift() ?? { error: 'ENOENT' };
    const talk = registrationClient(guarding, listenerOf).open(pin, new AbortController().signal);
    pin.release();
    t.after(async () => {
      talk.close();
      await plugin.stop();
    });
    return { talk, answers: () => plugin.count('GetInfo') };
  }

  void it('has no channel, and counts as one on which nobody listens, where it is a leftover', async () => {
    const directory = tempDir();
    deadSockets(directory, 1, process.getuid?.() ?? 0);
    const peers = new Peers();
    const [{ fault }, hasChannel] = await ask(path.join(directory, 'dead.sock'), (pin) => peers.listenerOf(pin));
    assert.deepEqual([fault, hasChannel], ['no-listener', false]);
  });

  for (const [error, fault] of [
    ['ECONNREFUSED', 'no-listener'],
    ['EACCES', 'not-permitted'],
    ['EMFILE', 'busy'],
  ] as const) {
    void it(`is not dialled after ${error}`, async () => {
      const [failure, hasChannel, connections] = await askListening(error);
      assert.deepEqual([failure.fault, hasChannel, connections], [fault, false, 0]);
    });
  }

  for (const [error, fault] of [
    ['ECONNREFUSED', 'no-listener'],
    ['EAGAIN', 'unreachable'],
  ] as const) {
    // Else a plugin whose queue is full at the right moment would count as the broker's own.
    void it(`is of nobody where it answered, and then its user cannot be known (${error})`, async (t) => {
      const { talk, answers } = await talkTo(t, { error: 'EAGAIN' }, { error });
      await assert.rejects(talk.getInfo(5000), { name: 'CallFailed', fault });
      assert.equal(talk.caller(), undefined);
      assert.equal(answers(), 1);
    });
  }

  void it('is of the user that is known after its answer, where its queue was full before', async (t) => {
    const { talk } = await talkTo(t, { error: 'EAGAIN' }, { uid: 4001, gid: 4001, pid: 1 });
    assert.equal((await talk.getInfo(5000)).name, 'example.com/gpu');
    assert.equal(talk.caller()?.uid, 4001);
  });

  void it('is dialled all the same where its process is busy (EAGAIN)', async () => {
    const [, hasChannel, connections] = await askListening('EAGAIN');
    assert.deepEqual([hasChannel, connections], [true, 1]);
  });
});
