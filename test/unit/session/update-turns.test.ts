import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import fc from 'fast-check';
import { UpdateTurns } from '../../../src/session/update-turns.js';
import { FakeStream, PacedBy } from '../../support/fake-connection.js';

const never = new AbortController().signal;
const message = (text: string): Buffer => Buffer.from(text);
const nextTurn = (): Promise<void> => Promise.resolve();

function turnsOf(stream: FakeStream, pacer = new PacedBy()): UpdateTurns {
  return new UpdateTurns(stream, pacer, nextTurn);
}

describe('a turn of updates', () => {
  it('takes the one list that has arrived', async () => {
    const stream = new FakeStream([message('a')]);
    assert.deepEqual(await turnsOf(stream).next(never), { newest: message('a'), taken: 1, exceeded: false });
  });

  it('takes what has arrived, and the newest of it counts', async () => {
    const stream = new FakeStream(['a', 'b', 'c', 'd', 'e'].map(message));
    assert.deepEqual(await turnsOf(stream).next(never), { newest: message('e'), taken: 5, exceeded: false });
  });

  it('ends although empty lists, which have no byte, keep arriving', async () => {
    const stream = new FakeStream(Array.from({ length: 1000 }, () => Buffer.alloc(0)));
    const turns = turnsOf(stream);
    assert.equal((await turns.next(never))?.taken, 256);
    assert.equal(stream.reads, 256);
  });

  it('takes more than four while they are small: up to 256 KiB', async () => {
    const stream = new FakeStream(Array.from({ length: 40 }, (_, at) => Buffer.alloc(16 * 1024, at)));
    const turn = await turnsOf(stream).next(never);
    assert.equal(turn?.taken, 16);
    assert.equal(turn.newest[0], 15);
  });

  it('of large messages takes four', async () => {
    const stream = new FakeStream(Array.from({ length: 9 }, (_, at) => Buffer.alloc(300 * 1024, at)));
    const turn = await turnsOf(stream).next(never);
    assert.equal(turn?.taken, 4);
    assert.equal(stream.reads, 4, 'nothing beyond is read');
  });

  it('that finds no further message leaves its read open for the next one', async () => {
    const stream = new FakeStream([message('a')]);
    const turns = turnsOf(stream);
    await turns.next(never);
    assert.equal(stream.reads, 2);
    stream.push(message('b'));
    assert.equal((await turns.next(never))?.newest.toString(), 'b');
    assert.equal(stream.reads, 3, 'a message is asked for once');
  });

  it('costs its user all lists that it takes, each by its bytes', async () => {
    const pacer = new PacedBy();
    const stream = new FakeStream(['a', 'bb', 'ccc'].map(message));
    await turnsOf(stream, pacer).next(never);
    assert.deepEqual(pacer.costs, [1, 2, 3]);
  });

  it('reads nothing while it waits for its permit: the plugin is held back', async () => {
    const pacer = new PacedBy({ permits: 0 });
    const stream = new FakeStream(['a', 'b', 'c'].map(message));
    const turn = turnsOf(stream, pacer).next(never);
    await settled();
    assert.equal(stream.reads, 1);
    pacer.come();
    assert.deepEqual(await turn, { newest: message('c'), taken: 3, exceeded: false });
  });

  it('beyond the pace where the policy says disconnect gives the list it has, and says so', async () => {
    const pacer = new PacedBy({ permits: 0, onExceed: 'disconnect' });
    const stream = new FakeStream(['a', 'b'].map(message));
    assert.deepEqual(await turnsOf(stream, pacer).next(never), { newest: message('a'), taken: 1, exceeded: true });
    assert.equal(stream.reads, 1);
  });

  it('ends with the stream, after the last list', async () => {
    const stream = new FakeStream(['a', 'b'].map(message), { status: 0, details: '' });
    const turns = turnsOf(stream);
    assert.equal((await turns.next(never))?.newest.toString(), 'b');
    assert.equal(await turns.next(never), undefined);
    assert.equal(await turns.next(never), undefined);
  });

  it('is given up with its session while it waits for a permit', async () => {
    const halt = new AbortController();
    const turn = turnsOf(new FakeStream([message('a')]), new PacedBy({ permits: 0 })).next(halt.signal);
    await settled();
    halt.abort(new Error('session closed'));
    await assert.rejects(turn, /session closed/);
  });

  it('loses no message and invents none, in any order of arrival', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(100 * 1024), { maxLength: 20 }), fc.nat(20), async (sizes, before) => {
        const messages = sizes.map((size) => Buffer.allocUnsafe(size));
        const stream = new FakeStream(messages.slice(0, before));
        const turns = turnsOf(stream);
        let taken = 0;
        for (const late of messages.slice(before)) stream.push(late);
        stream.finish({ status: 0, details: '' });
        for (let turn = await turns.next(never); turn !== undefined; turn = await turns.next(never)) {
          taken += turn.taken;
          assert.equal(turn.newest, messages[taken - 1]);
        }
        assert.equal(taken, messages.length);
      }),
      { numRuns: 50 },
    );
  });
});
