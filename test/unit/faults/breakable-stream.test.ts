import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BreakableStream } from '../../../src/faults/breakable-stream.js';
import type { ListStream, PluginConnection } from '../../../src/session/ports.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { StreamEnd } from '../../../src/model/failed-call.js';

const LIST_MS = 10_000;

/** A stream that a test feeds. */
class FedStream implements ListStream {
  end: StreamEnd | undefined;
  #waiting: ((message: Buffer | undefined) => void) | undefined;

  read(): Promise<Buffer | undefined> {
    if (this.end !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  /** How many messages were done with. */
  dones = 0;

  done(messages: number): void {
    this.dones += messages;
  }

  send(text: string): void {
    this.#waiting?.(Buffer.from(text));
  }

  finish(status: number, details: string): void {
    this.end ??= { status, details };
    this.#waiting?.(undefined);
  }

  cancel(): void {
    this.finish(1, 'cancelled');
  }
}

const unserved = (): Promise<never> => Promise.reject(new Error('nobody calls'));
const noCalls = { call: unserved, allocate: unserved, preferred: unserved, preStart: unserved };

/** A breakable stream, the streams that it opened, and how many of their connections are closed. */
function broken() {
  const streams = [new FedStream()];
  let closed = 0;
  const connect = (): PluginConnection => {
    const stream = new FedStream();
    streams.push(stream);
    return {
      options: () => Promise.reject(new Error('nobody asks')),
      listAndWatch: () => stream,
      calls: noCalls,
      onLost: () => undefined,
      close: () => {
        closed += 1;
      },
    };
  };
  const clock = new FakeClock();
  const at = (index: number): FedStream => streams[index]!;
  const told: string[] = [];
  const stream = new BreakableStream(at(0), connect, (is) => void told.push(is));
  return { stream, at, clock, closed: () => closed, told };
}

describe('a stream that can be broken', () => {
  it('tells when there is one and when there is none', async () => {
    const { stream, at, clock, told } = broken();
    const breaking = stream.break(LIST_MS, clock);
    at(1).send('again');
    await breaking;
    stream.cancel();
    assert.deepEqual(told, ['up', 'down', 'up', 'down']);
  });

  it('goes on for its session across breaks, which sees every list of the new stream', async () => {
    const { stream, at, clock, closed } = broken();
    const first = stream.read();
    const breaking = stream.break(LIST_MS, clock);
    at(1).send('again');
    await breaking;
    assert.equal((await first)?.toString(), 'again');
    const second = stream.read();
    at(1).send('more');
    assert.equal((await second)?.toString(), 'more');
    assert.deepEqual([at(0).end?.details, stream.end, stream.isOpen, closed()], ['cancelled', undefined, true, 0]);
    const next = stream.break(LIST_MS, clock);
    at(2).send('and again');
    await next;
    assert.equal((await stream.read())?.toString(), 'and again');
    assert.equal(closed(), 1);
  });

  it('tells each stream of its own messages that are done with', async () => {
    const { stream, at, clock } = broken();
    const first = stream.read();
    at(0).send('before');
    await first;
    const breaking = stream.break(LIST_MS, clock);
    at(1).send('again');
    await breaking;
    await stream.read();
    stream.done(1);
    assert.deepEqual([at(0).dones, at(1).dones], [0, 0], 'a stream that is cancelled has done with everything');
    stream.done(1);
    assert.equal(at(1).dones, 1);
  });

  it('ends for its session as the new stream ends, and says so to the breaker', async () => {
    const { stream, at, clock } = broken();
    const read = stream.read();
    const breaking = stream.break(LIST_MS, clock);
    at(1).finish(14, 'connection lost');
    await assert.rejects(breaking, /the new stream ended without a list: connection lost/);
    assert.equal(await read, undefined);
    assert.deepEqual([stream.end?.status, stream.isOpen], [14, false]);
    await assert.rejects(stream.break(LIST_MS, clock), /had ended already/);
  });

  it('is given up when no list comes in time', async () => {
    const { stream, clock } = broken();
    const breaking = assert.rejects(stream.break(LIST_MS, clock), /no list came within 10 s on the new stream/);
    await clock.advance(LIST_MS);
    await breaking;
    assert.equal(clock.pending, 0);
  });

  it('closes the connection of its own when its session ends', async () => {
    const { stream, at, clock, closed } = broken();
    const breaking = stream.break(LIST_MS, clock);
    stream.cancel();
    await assert.rejects(breaking, /its session ended/);
    assert.deepEqual([closed(), at(1).end?.details, stream.isOpen], [1, 'cancelled', false]);
  });
});
