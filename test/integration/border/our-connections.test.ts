import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CallFailed, PluginChannel } from '../../../src/platform/grpc/plugin-client.js';
import type { ConnectionEnd } from '../../../src/model/connection-ends.js';
import { encodeFrame, FRAME } from '../../../src/platform/http2/frames.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { ANSWER_ATTACKS } from '../../support/http2/answer-attacks.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { answerHeaders, HostilePlugin, type ServedConnection } from '../../support/http2/hostile-plugin.js';
import { message, number32 } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';

const MIB = 1024 * 1024;
const NONE = Buffer.alloc(0);
const never = new AbortController().signal;

void describe('a connection that we open', () => {
  const directory = tempDir();
  let ends: ConnectionEnd[] = [];
  const channelTo = (socket: string): PluginChannel =>
    new PluginChannel(
      socket,
      16 * MIB,
      { clock: systemClock, guard: () => guardSettings, onEnd: (end) => ends.push(end) },
      socket,
    );
  const calling = async (
    attack: Readonly<Record<string, (connection: ServedConnection, stream: number) => void | Promise<void>>>,
    call: (channel: PluginChannel) => Promise<void>,
  ): Promise<void> => {
    ends = [];
    const socket = path.join(directory, 'p.sock');
    const plugin = await HostilePlugin.start(socket, attack);
    const channel = channelTo(socket);
    try {
      await call(channel);
    } finally {
      channel.close();
      await plugin.stop();
    }
  };
  let bystander: HostilePlugin;
  let other: PluginChannel;
  before(async () => {
    bystander = await HostilePlugin.start(path.join(directory, 'b.sock'), {});
    other = channelTo(path.join(directory, 'b.sock'));
    await other.unary('/t/Unary', NONE, 5000, never);
  });
  after(async () => {
    other.close();
    await bystander.stop();
  });

  for (const { what, code, run } of ANSWER_ATTACKS) {
    void it(`ends with ${code} when it is answered with ${what}, and no other connection does`, async () => {
      await calling({ Unary: run }, async (channel) => {
        const failure = await channel.unary('/t/Unary', NONE, 20_000, never).catch((thrown: unknown) => thrown);
        assert.ok(failure instanceof CallFailed);
        assert.match(failure.message, new RegExp(`the broker ended the connection, ${code}: `));
      });
      assert.deepEqual(
        ends.map((end) => end.code),
        [code],
      );
      await other.unary('/t/Unary', NONE, 5000, never);
      assert.equal(bystander.connections.length, 1);
    });
  }

  void it('ends with SLOW_HEADERS when a header block that has begun does not go on', async () => {
    ends = [];
    const socket = path.join(directory, 's.sock');
    const plugin = await HostilePlugin.start(socket, {
      Unary: (connection, stream) => void connection.write(encodeFrame(FRAME.HEADERS, 0, stream, Buffer.from([0x88]))),
    });
    const guard = { ...guardSettings, headersMs: 100 };
    const owners: (number | undefined)[] = [];
    const onEnd = (_end: ConnectionEnd, _target: string, uid?: number): void => void owners.push(uid);
    const channel = new PluginChannel(socket, MIB, { clock: systemClock, guard: () => guard, onEnd }, socket, 4001);
    await assert.rejects(channel.unary('/t/Unary', NONE, 20_000, never), /SLOW_HEADERS/);
    assert.deepEqual(owners, [4001], 'it counts in the share of the owner of the socket');
    channel.close();
    await plugin.stop();
  });

  for (const piece of [1, 2, 9, 100, 1023, 1024, 5000, 16_384]) {
    void it(`delivers a message that comes in DATA frames of ${piece} octets as it was`, async () => {
      const payload = Buffer.from(Array.from({ length: 300 * Math.min(piece, 400) }, (_, at) => at % 251));
      const whole = message(payload);
      await calling(
        {
          Unary: (connection, stream) => {
            connection.write(answerHeaders(stream));
            for (let at = 0; at < whole.length; at += piece) {
              connection.write(encodeFrame(FRAME.DATA, 0, stream, whole.subarray(at, at + piece)));
            }
          },
        },
        async (channel) => {
          const stream = channel.stream('/t/Unary', NONE);
          const got = await stream.read();
          assert.ok(got?.equals(payload));
          stream.cancel();
        },
      );
      assert.deepEqual(ends, []);
    });
  }

  void it('keeps its windows when calls are given up in the middle of a message in small pieces', async () => {
    const begun = message(Buffer.alloc(MIB)).subarray(0, 1005);
    const piece = (stream: number, at: number): Buffer =>
      encodeFrame(FRAME.DATA, 0, stream, begun.subarray(at, at + 201));
    await calling(
      {
        Begun: (connection, stream) => {
          connection.write(answerHeaders(stream), ...[0, 201, 402, 603, 804].map((at) => piece(stream, at)));
          connection.write(encodeFrame(FRAME.RST_STREAM, 0, stream, number32(8)));
        },
        Large: (connection, stream) => {
          const whole = message(Buffer.alloc(60_000, 7));
          connection.write(answerHeaders(stream));
          for (let at = 0; at < whole.length; at += 16_000) {
            connection.write(encodeFrame(FRAME.DATA, 0, stream, whole.subarray(at, at + 16_000)));
          }
        },
      },
      async (channel) => {
        // The plugin sends whatever windows it has: a client that miscounts them gives the connection up.
        for (let turn = 0; turn < 80; turn++) await assert.rejects(channel.unary('/t/Begun', NONE, 5000, never));
        const stream = channel.stream('/t/Large', NONE);
        assert.equal((await stream.read())?.length, 60_000);
        stream.cancel();
      },
    );
    assert.deepEqual(ends, []);
  });
});
