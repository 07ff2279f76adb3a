import assert from 'node:assert/strict';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { PluginChannel, type CallFailed } from '../../../src/platform/grpc/plugin-client.js';
import { UnsentRequests } from '../../../src/platform/grpc/unsent-requests.js';
import { encodeFrame, encodeGoaway, FRAME } from '../../../src/platform/http2/frames.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { nextTurns } from '../../../src/platform/time/next-turn.js';
import type { ListStream } from '../../../src/session/ports.js';
import { eventually } from '../../support/eventually.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { answerHeaders, HostilePlugin, type ServedConnection } from '../../support/http2/hostile-plugin.js';
import { message, number32, settings } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';
import { usedBytes } from '../../support/used-memory.js';

const NONE = Buffer.alloc(0);
const MIB = 1024 * 1024;
const UID = 4001;
const LONG_MS = 60_000;
const never = new AbortController().signal;

/** Ways in which a peer that reads takes no request. */
const WAYS: readonly (readonly [what: string, stop: (connection: ServedConnection) => void])[] = [
  ['accepts no further call', (connection) => void connection.write(settings([3, 0]))],
  ['grants no window', (connection) => void connection.write(settings([4, 0]))],
];
/** Grants all windows there are, and reads nothing. */
const readNothing = (connection: ServedConnection): void => {
  connection.write(settings([4, 0x7fffffff]), encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(0x7ffe0000)));
  connection.socket.pause();
};

/** A plugin, called once. */
interface Stuck {
  readonly calls: PluginChannel;
  readonly list: ListStream;
  readonly connections: readonly ServedConnection[];
}

/** Calls that fail. */
interface Asked {
  ended(): Promise<CallFailed[]>;
  giveUp(): Promise<CallFailed[]>;
}

void describe('a request that the plugin does not take', () => {
  const directory = tempDir();
  const closes: (() => void | Promise<void>)[] = [];
  const unsent = new UnsentRequests({ ownUid: 0, userOf: (uid) => uid });
  const isFull = (): boolean => unsent.refusal(UID, 16 * MIB) !== undefined;
  let names = 0;

  /** A plugin whose list goes on, and that takes no octet of further requests. */
  async function stuck(stop: (connection: ServedConnection) => void): Promise<Stuck> {
    const socket = path.join(directory, `${String((names += 1))}.sock`);
    const plugin = await HostilePlugin.start(socket, {
      Any: () => undefined,
      Watch: (connection, stream) => {
        stop(connection);
        connection.write(answerHeaders(stream), encodeFrame(FRAME.DATA, 0, stream, message(NONE)));
      },
    });
    const guarding = { clock: systemClock, guard: () => guardSettings, unsent };
    const calls = new PluginChannel(socket, MIB, guarding, socket, UID);
    closes.push(
      () => calls.close(),
      () => plugin.stop(),
    );
    const list = calls.stream('/t/Watch', NONE);
    assert.ok((await list.read()) !== undefined);
    return { calls, list, connections: plugin.connections };
  }

  /** Begins requests of a MiB each. */
  function ask(calls: PluginChannel, count: number): Asked {
    const halt = new AbortController();
    const asked = Array.from({ length: count }, () => {
      const call = calls.unary('/t/Any', Buffer.alloc(MIB), LONG_MS, halt.signal);
      return call.then(
        () => assert.fail('it was answered'),
        (failure: unknown) => failure as CallFailed,
      );
    });
    const ended = (): Promise<CallFailed[]> => Promise.all(asked);
    return {
      ended,
      giveUp: () => {
        halt.abort();
        return ended();
      },
    };
  }

  afterEach(async () => {
    for (const close of closes.splice(0)) await close();
    await eventually('nothing is counted that waited on connections which have ended', () => !isFull());
  });

  for (const [what, stop] of WAYS) {
    void it(`because it ${what} leaves the memory with its call, and the connection goes on`, async () => {
      const { calls, connections } = await stuck(stop);
      const before = usedBytes();
      for (let round = 0; round < 3; round += 1) await ask(calls, 15).giveUp();
      await eventually('they are gone', () => usedBytes() - before < 5 * MIB);
      assert.deepEqual([isFull(), connections.map(({ isClosed }) => isClosed)], [false, [false]]);
    });

    void it(`because it ${what} is one of 16 MiB that wait for all plugins of its user`, async () => {
      const [one, other] = [await stuck(stop), await stuck(stop)];
      const asked = [ask(one.calls, 8), ask(other.calls, 7)];
      const [refused] = await ask(other.calls, 1).ended();
      assert.deepEqual([refused?.status, refused?.fault], [GRPC_STATUS.RESOURCE_EXHAUSTED, 'busy']);
      assert.match(
        refused?.message ?? '',
        /the plugins of uid 4001 have not taken 157\d+ bytes of requests, and 16777216/,
      );
      const given = (await Promise.all(asked.map((some) => some.giveUp()))).flat();
      assert.deepEqual(new Set(given.map(({ fault }) => fault)), new Set(['given-up']));
      await eventually('there is room again', () => unsent.refusal(UID, 16 * MIB) === undefined);
    });
  }

  void it('because it reads nothing is counted after its call, too, until the connection ends', async () => {
    const { calls } = await stuck(readNothing);
    await ask(calls, 15).giveUp();
    await nextTurns(10);
    assert.equal(isFull(), true);
    calls.close();
    await eventually('there is room again', () => !isFull());
  });

  void it('is nothing that keeps a connection which is to take no more, if there are many', async () => {
    for (const [count, isKept] of [
      [4, true],
      [20, false],
    ] as const) {
      const { calls, list, connections } = await stuck((connection) => void connection.write(settings([3, 0])));
      for (let at = 0; at < count; at += 5) await ask(calls, 5).giveUp();
      const [first] = connections;
      const isLost = new Promise<void>((lost) => calls.onConnectionLost(lost));
      first?.write(encodeGoaway(1, 0, ''));
      await isLost;
      await calls.unary('/t/Other', NONE, LONG_MS, never);
      // Each side hears of the end in its own time.
      if (!isKept) await eventually('it ends', () => first?.isClosed === true && list.end !== undefined);
      assert.deepEqual([list.end === undefined, first?.isClosed], [isKept, !isKept]);
    }
  });
});
