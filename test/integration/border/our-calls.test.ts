import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import type { Clock } from '../../../src/kernel/clock.js';
import { MessageRoom } from '../../../src/platform/grpc/message-room.js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { POLITE_MS } from '../../../src/platform/grpc/owned-sockets.js';
import { CallFailed, PluginChannel } from '../../../src/platform/grpc/plugin-client.js';
import { encodeFrame, encodeGoaway, encodeHeaders, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { nextTurns } from '../../../src/platform/time/next-turn.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { answer, answerHeaders, HostilePlugin, type ServedConnection } from '../../support/http2/hostile-plugin.js';
import { indexed, literal } from '../../support/http2/hpack-writer.js';
import { message, number32, settings } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';

const NONE = Buffer.alloc(0);
const LARGEST = 1000;
const never = new AbortController().signal;
const S = GRPC_STATUS;

type Answer = (connection: ServedConnection, stream: number) => void;

const block = (stream: number, ends: boolean, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat(encodeHeaders(ends ? FLAG.END_STREAM : 0, stream, Buffer.concat(fields)));
const data = (stream: number, octets: Buffer, flags = 0): Buffer => encodeFrame(FRAME.DATA, flags, stream, octets);
const only = (http: Buffer, ...fields: readonly (readonly [string, string])[]): Answer => {
  return (connection, stream) =>
    connection.write(block(stream, true, http, ...fields.map(([name, value]) => literal(name, value))));
};
const ok = indexed(8);
const ended = (stream: number, status: string, words: string): Buffer =>
  block(stream, true, literal('grpc-status', status), literal('grpc-message', words));
const reset = (code: number): Answer => {
  return (connection, stream) => connection.write(encodeFrame(FRAME.RST_STREAM, 0, stream, number32(code)));
};

/** Answers of a plugin, and how the call ends: status, words, and why our transport failed it. */
const ENDS: readonly (readonly [what: string, answer: Answer, status: number, words: RegExp, fault?: string])[] = [
  [
    'a status without a message',
    only(ok, ['grpc-status', '9'], ['grpc-message', 'no %22card%22, 100%25 sure: %C3%BC']),
    S.FAILED_PRECONDITION,
    /^no "card", 100% sure: ü$/,
  ],
  [
    'words that are not encoded as they should be',
    only(ok, ['grpc-status', '2'], ['grpc-message', '100% ü']),
    2,
    /100%/,
  ],
  ['a status that does not exist', only(ok, ['grpc-status', '99']), S.UNKNOWN, /^$/],
  ['a status that is no number', only(ok, ['grpc-status', 'OK']), S.UNKNOWN, /^$/],
  ['a status of success and no message', only(ok, ['grpc-status', '0']), S.INTERNAL, /^the answer has no message$/],
  ['the status 404 of HTTP', only(indexed(13)), S.UNIMPLEMENTED, /^Received HTTP status code 404$/],
  [
    'a page of HTML',
    (connection, stream) => {
      connection.write(
        block(stream, false, indexed(14)),
        data(stream, Buffer.from('<html>sorry</html>'), FLAG.END_STREAM),
      );
    },
    S.UNKNOWN,
    /^Received HTTP status code 500$/,
  ],
  [
    'a message and a status of failure',
    (connection, stream) => {
      connection.write(answerHeaders(stream), data(stream, message(NONE)), ended(stream, '8', 'too often'));
    },
    S.RESOURCE_EXHAUSTED,
    /^too often$/,
  ],
  [
    'a message and no status',
    (connection, stream) => {
      connection.write(answerHeaders(stream), data(stream, message(NONE), FLAG.END_STREAM));
    },
    S.INTERNAL,
    /without gRPC status/,
  ],
  [
    'two messages',
    (connection, stream) => {
      connection.write(answerHeaders(stream), data(stream, Buffer.concat([message(NONE), message(NONE)])));
    },
    S.INTERNAL,
    /^there was more than one answer$/,
  ],
  [
    'a message that is larger than we take',
    (connection, stream) => {
      connection.write(answerHeaders(stream), data(stream, message(Buffer.alloc(LARGEST + 1))));
    },
    S.RESOURCE_EXHAUSTED,
    /^Received message larger than max \(1001 vs 1000\)$/,
  ],
  [
    'a message that is compressed',
    (connection, stream) => {
      connection.write(answerHeaders(stream), data(stream, Buffer.from([1, 0, 0, 0, 1, 0])));
    },
    S.INTERNAL,
    /compressed/,
  ],
  ['a reset that refuses the call', reset(7), S.UNAVAILABLE, /^Stream refused by server$/, 'unreachable'],
  ['a reset that cancels the call', reset(8), S.CANCELLED, /^Call cancelled$/, 'given-up'],
  ['a reset with an error', reset(2), S.INTERNAL, /^Received RST_STREAM with code 2$/, 'unreachable'],
  [
    'the end of the connection',
    (connection) => void connection.socket.destroy(),
    S.UNAVAILABLE,
    /^Connection dropped$/,
    'hung-up',
  ],
  [
    'the end of the connection after it began',
    (connection, stream) => {
      connection.write(answerHeaders(stream));
      connection.socket.end();
    },
    S.UNAVAILABLE,
    /^Connection dropped$/,
    'hung-up',
  ],
  [
    'GOAWAY with an error',
    (connection) => void connection.write(encodeGoaway(0, 2, 'broken')),
    S.UNAVAILABLE,
    /./,
    'hung-up',
  ],
];

void describe('a call to a plugin', () => {
  const directory = tempDir();
  const socket = path.join(directory, 'p.sock');
  const closes: (() => void | Promise<void>)[] = [];
  const channel = (clock: Clock = systemClock): PluginChannel => {
    const made = new PluginChannel(socket, LARGEST, { clock, guard: () => guardSettings }, '/p.sock');
    closes.push(() => made.close());
    return made;
  };
  const plugin = async (answers: Readonly<Record<string, Answer>>): Promise<HostilePlugin> => {
    const started = await HostilePlugin.start(socket, answers);
    closes.push(() => started.stop());
    return started;
  };
  const failing = async (call: Promise<unknown>): Promise<CallFailed> => {
    const failure: unknown = await call.catch((thrown: unknown) => thrown);
    assert.ok(failure instanceof CallFailed, String(failure));
    return failure;
  };
  afterEach(async () => {
    for (const close of closes.splice(0)) await close();
  });

  for (const [what, answer, status, words, fault] of ENDS) {
    void it(`that is answered with ${what} fails as it should, and the next one is answered`, async () => {
      await plugin({ Fails: answer });
      const called = channel();
      const failure = await failing(called.unary('/t/Fails', NONE, 5000, never));
      assert.deepEqual([failure.status, failure.fault], [status, fault], failure.message);
      assert.match(failure.message, words);
      assert.equal((await called.unary('/t/Other', NONE, 5000, never)).length, 0);
    });
  }

  void it('that is answered with half a message is read on while its user has room, and fails when the rest does not come', async () => {
    const clock = new FakeClock();
    const room = new MessageRoom({ ownUid: 0, userOf: (uid) => uid });
    const MIB = 1024 * 1024;
    const large = message(Buffer.alloc(10 * MIB));
    const heads = (stream: number): Buffer =>
      Buffer.concat([answerHeaders(stream), data(stream, large.subarray(0, 1024))]);
    const rests: (() => void)[] = [];
    const { connections } = await plugin({
      Half: (connection, stream) => {
        connection.write(heads(stream));
        rests.push(() => connection.write(data(stream, large.subarray(1024, 17_000))));
      },
    });
    const calls = [4001, 4001, 4002, 0].map((uid) => {
      const guarding = { clock, guard: () => guardSettings, room };
      const made = new PluginChannel(socket, 16 * MIB, guarding, '/p.sock', uid);
      closes.push(() => made.close());
      return failing(made.unary('/t/Half', NONE, 600_000, never));
    });
    await eventually('all were asked', () => rests.length === 4);
    assert.equal(connections.length, 4);
    const taken = (): readonly number[] => room.held();
    await eventually('they have begun', () => taken().length === 2);
    assert.deepEqual(taken(), [10 * MIB, 10 * MIB], 'one of each user: its second one waits');
    for (const rest of rests) rest();
    await clock.advance(30_000);
    const over = await Promise.race(calls);
    assert.equal(over.status, S.INTERNAL);
    assert.match(over.message, /was not whole after 30 s/);
    await eventually('the second one of the user is read', () => taken().length === 1);
    await clock.advance(30_000);
    for (const { message: words } of await Promise.all(calls)) assert.match(words, /was not whole after 30 s/);
    assert.deepEqual(taken(), []);
  });

  void it('leaves room for the next message of its user when the reader of its own has done with it, and not before', async () => {
    const room = new MessageRoom({ ownUid: 0, userOf: (uid) => uid });
    const large = Buffer.alloc(10 * 1024 * 1024, 'l');
    const served = await FakePlugin.start({ socket, resource: 'example.com/large' });
    closes.push(() => served.stop());
    const streams = [1, 2, 3].map(() => {
      const guarding = { clock: systemClock, guard: () => guardSettings, room };
      const made = new PluginChannel(socket, 2 * large.length, guarding, '/p.sock', 4001);
      closes.push(() => made.close());
      return made.stream('/v1beta1.DevicePlugin/ListAndWatch', NONE);
    });
    for (const stream of streams) assert.ok((await stream.read()) !== undefined, 'a short list needs no room');
    served.sendBytes(large);
    const whole: number[] = [];
    for (const [nth, stream] of streams.entries()) {
      void stream.read().then((list) => list?.length === large.length && whole.push(nth));
    }
    await eventually('one is whole', () => whole.length === 1);
    const [first = 0] = whole;
    served.endStreams();
    await eventually('its stream has ended', async () => {
      return (await streams[first]?.read()) === undefined;
    });
    assert.deepEqual([whole.length, ...room.held()], [1, large.length], 'its reader may still hold it');
    streams[first]?.done(2);
    await eventually('so is the second', () => whole.length === 2);
    streams[whole[1] ?? 0]?.cancel();
    await eventually('and the last', () => whole.length === 3);
    streams[whole[2] ?? 0]?.done(2);
    assert.deepEqual(room.held(), []);
  });

  void it('keeps the room of a message that was read beyond the one that is done with', async () => {
    const room = new MessageRoom({ ownUid: 0, userOf: (uid) => uid });
    const large = Buffer.alloc(6 * 1024 * 1024, 'l');
    const served = await FakePlugin.start({ socket, resource: 'example.com/large' });
    closes.push(() => served.stop());
    const guarding = { clock: systemClock, guard: () => guardSettings, room };
    const made = new PluginChannel(socket, large.length, guarding, '/p.sock', 4001);
    closes.push(() => made.close());
    const stream = made.stream('/v1beta1.DevicePlugin/ListAndWatch', NONE);
    assert.ok((await stream.read()) !== undefined, 'a short list needs no room');
    served.sendBytes(large);
    served.sendBytes(large);
    const lists = [await stream.read(), await stream.read()];
    assert.deepEqual(
      lists.map((list) => list?.length),
      [large.length, large.length],
    );
    assert.deepEqual(room.held(), [2 * large.length]);
    stream.done(2);
    assert.deepEqual(room.held(), [large.length], 'the short one and the first large one');
    stream.done(1);
    assert.deepEqual(room.held(), []);
  });

  void it('takes no larger answer than its own limit, even if the channel takes more', async () => {
    await plugin({
      Long: (connection, stream) => connection.write(answerHeaders(stream), data(stream, message(Buffer.alloc(101)))),
    });
    const called = channel();
    const failure = await failing(called.unary('/t/Long', NONE, 5000, never, 100));
    assert.match(failure.message, /^Received message larger than max \(101 vs 100\)$/);
  });

  void it('is one of many on one connection', async () => {
    const { connections } = await plugin({});
    const called = channel();
    await Promise.all(Array.from({ length: 300 }, () => called.unary('/t/Any', NONE, 20_000, never)));
    assert.equal(connections.length, 1);
    assert.equal(connections[0]?.resets.size, 0, 'none is reset that was answered as it should be');
  });

  void it('goes to a new connection when the plugin said GOAWAY, and calls under way are answered', async () => {
    const late: (() => void)[] = [];
    const { connections } = await plugin({
      Late: (connection, stream) => {
        connection.write(encodeGoaway(stream, 0, 'bye'));
        late.push(() =>
          connection.write(
            answerHeaders(stream),
            data(stream, message(NONE)),
            block(stream, true, literal('grpc-status', '0')),
          ),
        );
      },
    });
    const called = channel();
    let losses = 0;
    await called.connect(5000, never);
    called.onConnectionLost(() => losses++);
    const answered = called.unary('/t/Late', NONE, 5000, never);
    await eventually('the plugin said it', () => losses === 1);
    await called.unary('/t/Other', NONE, 5000, never);
    for (const answer of late) answer();
    await answered;
    assert.equal(connections.length, 2);
    assert.equal(losses, 1);
  });

  void it('that streams goes on when its plugin said GOAWAY and others went to new connections, until its channel closes', async () => {
    const streams: (() => void)[] = [];
    const { connections } = await plugin({
      Lists: (connection, stream) => {
        connection.write(answerHeaders(stream), data(stream, message(NONE)), encodeGoaway(stream, 0, 'max_age'));
        streams.push(() => connection.write(data(stream, message(Buffer.from('more')))));
      },
    });
    const clock = new FakeClock();
    const called = channel(clock);
    await called.connect(5000, never);
    let losses = 0;
    called.onConnectionLost(() => losses++);
    const lists = called.stream('/t/Lists', NONE);
    assert.deepEqual(await lists.read(), NONE);
    await eventually('the plugin said it', () => losses === 1);
    await called.unary('/t/Other', NONE, 5000, never);
    await clock.advance(POLITE_MS);
    for (const send of streams) send();
    assert.deepEqual(await lists.read(), Buffer.from('more'));
    called.close();
    await clock.advance(POLITE_MS);
    assert.equal(await lists.read(), undefined);
    await eventually('both are closed', () => connections.length === 2 && connections.every((one) => one.isClosed));
  });

  void it('that is answered although its request never left is closed, and holds nothing', async () => {
    const asked: number[] = [];
    const { connections } = await plugin({
      Any: (connection, stream) => {
        // INITIAL_WINDOW_SIZE 0: no octet of a request may be sent.
        if (asked.length === 0) connection.write(settings([4, 0]));
        asked.push(stream);
        connection.write(answer(stream, NONE));
      },
      Fails: (connection, stream) => {
        asked.push(stream);
        only(ok, ['grpc-status', '9'])(connection, stream);
      },
    });
    const called = channel();
    await called.unary('/t/Any', NONE, 5000, never);
    asked.length = 0;
    for (let turn = 0; turn < 100; turn++) await called.unary('/t/Any', Buffer.alloc(1000), 5000, never);
    assert.equal((await failing(called.unary('/t/Fails', NONE, 5000, never))).status, S.FAILED_PRECONDITION);
    await eventually('each was reset', () => asked.every((stream) => connections[0]?.resets.get(stream) === 8));
    assert.deepEqual([asked.length, connections.length], [101, 1]);
  });

  void it('of many that were given up and cannot be closed is on a connection that is given up with them', async () => {
    const { connections } = await plugin({
      // MAX_CONCURRENT_STREAMS 1: a call beyond it waits in our own connection, given up or not.
      First: (connection) => void connection.write(settings([3, 1])),
    });
    const called = channel();
    const lasting = called.stream('/t/First', NONE);
    const ends = lasting.read();
    await called.connect(5000, never);
    await eventually('it was asked', () => connections.length === 1);
    let tries = 0;
    for (; lasting.end === undefined; tries++) {
      assert.ok(tries < 200, 'all wait for ever');
      await failing(called.unary('/t/Any', Buffer.alloc(1000), 5, never)).catch(() => undefined);
    }
    assert.equal(await ends, undefined);
    assert.equal(lasting.end.status, S.UNAVAILABLE);
    assert.ok(tries >= 64, `${tries} calls of an honest plugin that hangs are borne`);
    await called.unary('/t/Any', NONE, 5000, never);
    assert.equal(connections.length, 2);
  });

  void it('of many that wait for a peer which takes one after the other takes no connection from them when one is given up', async () => {
    const { connections } = await plugin({ First: (connection) => void connection.write(settings([3, 1])) });
    const called = channel();
    const lasting = called.stream('/t/First', NONE);
    await called.connect(5000, never);
    await eventually('it was asked', () => connections.length === 1);
    const halt = new AbortController();
    const waiting = Array.from({ length: 100 }, () => called.unary('/t/Any', NONE, 60_000, halt.signal));
    await failing(called.unary('/t/Any', NONE, 20, never)).catch(() => undefined);
    await nextTurns(10);
    assert.deepEqual([lasting.end, connections.map(({ isClosed }) => isClosed)], [undefined, [false]]);
    const given = Promise.all(waiting.map((call) => call.catch(() => undefined)));
    halt.abort();
    await given;
    lasting.cancel();
  });

  void it('that nobody answers ends at its time, and when it is given up', async () => {
    await plugin({ Silent: () => undefined });
    const called = channel();
    const late = await failing(called.unary('/t/Silent', NONE, 30, never));
    assert.deepEqual([late.status, late.fault], [S.DEADLINE_EXCEEDED, 'no-answer']);
    const given = new AbortController();
    const call = failing(called.unary('/t/Silent', NONE, 5000, given.signal));
    given.abort();
    assert.equal((await call).fault, 'given-up');
    assert.equal((await failing(called.unary('/t/Other', NONE, 5000, given.signal))).fault, 'given-up');
    await called.unary('/t/Other', NONE, 5000, never);
  });

  void it('to a silent peer ends at its time, and a connection to it, too', async () => {
    const server = net.createServer().listen(socket);
    closes.push(() => void server.close());
    const called = channel();
    const settled = await Promise.all([
      failing(called.unary('/t/Any', NONE, 30, never)),
      failing(called.connect(30, never)),
    ]);
    assert.deepEqual(
      settled.map(({ fault }) => fault),
      ['no-answer', 'no-answer'],
    );
    called.close();
  });

  void it('to a peer that hangs up at once finds that it did: a plugin that crashes does, too', async () => {
    const server = net.createServer((accepted) => accepted.end()).listen(socket);
    closes.push(() => void server.close());
    const called = channel();
    assert.equal((await failing(called.unary('/t/Any', NONE, 5000, never))).fault, 'hung-up');
    assert.equal((await failing(called.connect(5000, never))).status, S.UNAVAILABLE);
  });

  void it('fails with its channel, before the connection stands and after', async () => {
    await plugin({ Silent: () => undefined });
    const called = channel();
    const before = failing(called.unary('/t/Silent', NONE, 5000, never));
    called.close();
    assert.equal((await before).status, S.UNAVAILABLE);
    const other = channel();
    await other.connect(5000, never);
    const under = failing(other.unary('/t/Silent', NONE, 5000, never));
    other.close();
    assert.equal((await under).fault, 'hung-up');
    assert.equal((await failing(other.unary('/t/Any', NONE, 5000, never))).fault, 'given-up');
    assert.equal(await other.stream('/t/Any', NONE).read(), undefined);
  });

  void it('that streams is read as far as somebody wants it, and its end comes after its last message', async () => {
    const list = message(Buffer.alloc(900, 1));
    let sent = 0;
    await plugin({
      Stream: (connection, stream) => {
        connection.write(answerHeaders(stream));
        for (; sent < 60; sent++) connection.write(data(stream, list));
        connection.write(ended(stream, '0', ''));
      },
    });
    const stream = channel().stream('/t/Stream', NONE);
    let got = 0;
    while ((await stream.read()) !== undefined) got++;
    assert.equal(got, 60);
    assert.deepEqual(stream.end, { status: S.OK, details: '', fault: undefined });
  });
});
