import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../support/silence.js';
import type { Sharer } from '../../../src/kernel/user-shares.js';
import { Audience } from '../../../src/page/audience.js';
import { Picture } from '../../../src/page/picture.js';
import { FakeClock } from '../../support/fake-clock.js';
import { pluginView } from '../../support/fake-admin-port.js';
import { FakePageSource, FakeStream } from '../../support/page-source.js';

async function world(rest: () => Promise<void> | undefined = () => undefined) {
  const clock = new FakeClock();
  const source = new FakePageSource(clock);
  await source.journal.open(0);
  const picture = new Picture({ source, clock, rest: () => rest() });
  const audience = new Audience({ source, clock, log: silentLog, picture });
  const join = async (since?: number, sharer?: Sharer) => {
    const stream = new FakeStream();
    const leave = audience.join(stream, since, sharer);
    await clock.settle();
    await clock.settle();
    return { stream, leave };
  };
  return { clock, source, picture, audience, join };
}

void describe('the audience', () => {
  void it('gives each reader the whole picture and then what changes, at most twice a second', async () => {
    const { clock, source, join } = await world();
    source.port.pluginList = [pluginView({ name: 'example.com/a' }), pluginView({ name: 'example.com/b' })];
    const { stream } = await join();
    const [first, ...more] = stream.messages;
    assert.equal(first?.event, 'snapshot');
    assert.equal((first.data['plugins'] as unknown[]).length, 2);
    assert.deepEqual(more, []);
    assert.match(stream.text, /^retry: 2000\n/);
    for (let nth = 0; nth < 10; nth += 1) {
      source.port.pluginList = [pluginView({ name: 'example.com/a', pid: nth })];
      source.journal.record({ type: 'operator', message: `change ${String(nth)}` });
      await clock.advance(100);
    }
    await clock.advance(500);
    const changes = stream.messages.filter(({ event }) => event === 'change');
    assert.ok(changes.length >= 2 && changes.length <= 3, `${String(changes.length)} changes`);
    assert.deepEqual(
      (changes.at(-1)?.data['plugins'] as { pid: number }[]).map(({ pid }) => pid),
      [9],
    );
    assert.equal((changes[0]?.data['removed'] as { plugins: string[] }).plugins.length, 1);
    assert.equal(stream.messages.filter(({ event }) => event === 'event').length, 10);
  });

  void it('looks at nothing and holds no alarm while nobody listens', async () => {
    const { clock, source, join } = await world();
    const { leave } = await join();
    const before = source.looks;
    leave();
    source.journal.record({ type: 'operator', message: 'something' });
    await clock.advance(60_000);
    assert.equal(source.looks, before);
    assert.equal(clock.pending, 0);
  });

  void it('says each five seconds that it lives, where nothing happens', async () => {
    const { clock, join } = await world();
    const { stream } = await join();
    const before = stream.text;
    await clock.advance(10_500);
    assert.match(stream.text.slice(before.length), /^(:\n\n){2}$/);
  });

  void it('looks at whom an event is about, and at all others within five seconds', async () => {
    const { clock, source, join } = await world();
    const [a, b] = [pluginView({ name: 'example.com/a' }), pluginView({ name: 'example.com/b' })];
    source.port.pluginList = [a, b];
    const { stream } = await join();
    source.port.pluginList = [
      { ...a, pid: 7 },
      { ...b, pid: 8 },
    ];
    source.journal.record({
      type: 'state',
      uid: undefined,
      plugin: 'DevicePlugin/example.com/a',
      message: 'something',
    });
    const pids = (): unknown[] =>
      stream.messages
        .filter(({ event }) => event === 'change')
        .flatMap(({ data }) => (data['plugins'] as { pid: number }[]).map(({ pid }) => pid));
    await clock.advance(1000);
    assert.deepEqual(pids(), [7]);
    await clock.advance(4500);
    assert.deepEqual(pids(), [7, 8]);
    source.port.pluginList = [{ ...b, pid: 8 }];
    source.journal.record({ type: 'state', uid: undefined, plugin: 'DevicePlugin/example.com/a', message: 'gone' });
    await clock.advance(1000);
    const { removed } = stream.messages.at(-2)?.data ?? {};
    assert.equal((removed as { plugins: string[] }).plugins.length, 1);
  });

  void it('gives a reader that comes within a minute the kept picture with the news, and the rest at once after it', async () => {
    const { clock, source, join } = await world();
    const [a, b] = [pluginView({ name: 'example.com/a' }), pluginView({ name: 'example.com/b' })];
    source.port.pluginList = [a, b];
    (await join()).leave();
    const pidsOf = (rows: unknown): unknown[] => (rows as { pid: number }[]).map(({ pid }) => pid);
    await clock.advance(30_000);
    source.port.pluginList = [
      { ...a, pid: 7 },
      { ...b, pid: 8 },
    ];
    source.journal.record({
      type: 'state',
      uid: undefined,
      plugin: 'DevicePlugin/example.com/a',
      message: 'something',
    });
    const second = await join();
    assert.deepEqual(pidsOf(second.stream.messages[0]?.data['plugins']), [7, b.pid]);
    await clock.advance(600);
    const change = second.stream.messages.find(({ event }) => event === 'change');
    assert.deepEqual(pidsOf(change?.data['plugins']), [8]);
    second.leave();
    source.port.pluginList = [{ ...b, pid: 9 }];
    await clock.advance(60_000);
    assert.deepEqual(pidsOf((await join()).stream.messages[0]?.data['plugins']), [9]);
  });

  void it('takes sixteen and refuses the next until one goes', async () => {
    const { audience, join } = await world();
    const joined = [];
    for (let nth = 0; nth < 16; nth += 1) {
      assert.equal(audience.refusal(undefined), undefined);
      joined.push(await join());
    }
    assert.match(audience.refusal(undefined)?.message ?? '', /16 pages follow already/);
    joined[3]?.leave();
    assert.equal(audience.refusal(undefined), undefined);
  });

  void it('has the one that came first give way once it has stayed five seconds', async () => {
    const { clock, audience, join } = await world();
    const isFull = (): boolean => audience.refusal(undefined) !== undefined;
    const joined = [];
    for (let nth = 0; nth < 16; nth += 1) {
      joined.push(await join());
      await clock.advance(250);
    }
    await clock.advance(900);
    assert.equal(isFull(), true, 'the first one is here for 4.9 s');
    await clock.advance(100);
    assert.equal(isFull(), false);
    const { stream } = await join();
    assert.equal(stream.messages[0]?.event, 'snapshot');
    const gone = joined.map((each) => each.stream.isDestroyed);
    assert.deepEqual(gone, [true, ...Array<boolean>(15).fill(false)]);
    assert.equal(audience.size, 16);
    assert.equal(isFull(), true);
  });

  void it('lets each newcomer in, though a reader that has all slots opens another stream each second', async () => {
    const { clock, audience, join } = await world();
    for (let nth = 0; nth < 16; nth += 1) await join();
    await clock.advance(5_000);
    for (let second = 0; second < 60; second += 1) {
      if (audience.refusal(undefined) === undefined) await join();
      if (second % 10 === 5) {
        assert.equal(audience.refusal(undefined), undefined, `after ${String(second)} s`);
        const { stream, leave } = await join();
        await clock.advance(4_900);
        assert.equal(stream.isDestroyed, false);
        leave();
      }
      await clock.advance(1000);
    }
  });

  void it('gives one user four streams, all ordinary users twelve, and whoever has more gives way to nobody but its like', async () => {
    const { clock, audience, join } = await world();
    const [root, first] = [await join(), await join(undefined, 4001)];
    for (let nth = 1; nth < 4; nth += 1) await join(undefined, 4001);
    assert.match(audience.refusal(4001)?.message ?? '', /^4 pages of one user follow already/);
    const others = [];
    for (const uid of [4002, 4002, 4002, 4002, 'unknown', 'unknown', 'unknown', 'unknown'] as const) {
      assert.equal(audience.refusal(uid), undefined, String(uid));
      others.push(await join(undefined, uid));
    }
    assert.match(audience.refusal(4003)?.message ?? '', /^12 pages of ordinary users follow already/);
    await clock.advance(5_000);
    // Its own oldest makes room, though that of root is older.
    await join(undefined, 4001);
    assert.deepEqual([root.stream.isDestroyed, first.stream.isDestroyed], [false, true]);
    const second = await join(undefined, 4003);
    assert.equal(audience.size, 13);
    assert.equal(root.stream.isDestroyed, false);
    assert.equal(audience.refusal(undefined), undefined);
    await join();
    assert.deepEqual(
      [root, second].map(({ stream }) => stream.isDestroyed),
      [false, false],
    );
    assert.equal(audience.size, 14);
    assert.equal(others.filter(({ stream }) => stream.isDestroyed).length, 0);
  });

  void it('cuts off a follower that does not read, and nobody else', async () => {
    const { clock, source, audience, join } = await world();
    const slow = await join();
    const quick = await join();
    slow.stream.unread = 3 * 1024 * 1024;
    source.journal.record({ type: 'operator', message: 'something' });
    await clock.advance(1000);
    assert.equal(slow.stream.isDestroyed, true);
    assert.equal(quick.stream.isDestroyed, false);
    assert.equal(audience.size, 1);
  });

  void it('tells a returning follower the events that it missed', async () => {
    const { source, join } = await world();
    for (const message of ['one', 'two', 'three']) source.journal.record({ type: 'operator', message });
    const { stream } = await join(1);
    const events = stream.messages.filter(({ event }) => event === 'event');
    assert.deepEqual(
      events.map(({ data }) => data['message']),
      ['two', 'three'],
    );
    assert.match(stream.text, /^id: 3$/m);
  });

  void it('says goodbye when the broker stops, and takes nobody any more', async () => {
    const { clock, source, audience, join } = await world();
    const { stream } = await join();
    source.headList = { ...source.headList, broker: { ...source.headList.broker, phase: 'stopping' } };
    source.journal.record({ type: 'broker', message: 'the broker is stopping: SIGTERM' });
    await clock.advance(1000);
    assert.equal(stream.messages.at(-1)?.event, 'bye');
    assert.equal(stream.isEnded, true);
    assert.match(audience.refusal(undefined)?.message ?? '', /stopping/);
  });

  void it('tells of the end although a look goes on when the events are over', async () => {
    let held: Promise<void> | undefined;
    let goOn = (): void => undefined;
    const { clock, source, join } = await world(() => held);
    source.port.pluginList = [pluginView({ name: 'example.com/a' })];
    const { stream } = await join();
    held = new Promise((resolve) => (goOn = resolve));
    await clock.advance(6000); // everything is looked at again
    source.headList = { ...source.headList, broker: { ...source.headList.broker, phase: 'stopping' } };
    source.journal.record({ type: 'broker', message: 'the broker is stopping: SIGTERM' });
    await clock.settle();
    await source.journal.close(1000);
    await clock.settle();
    held = undefined;
    goOn();
    await clock.settle();
    await clock.settle();
    const [last, before] = [...stream.messages].reverse();
    assert.deepEqual([before?.data['message'], last?.event], ['the broker is stopping: SIGTERM', 'bye']);
    assert.match(stream.text, /"phase":"stopping"/);
  });

  void it('names no owner of a lease', async () => {
    const { clock, source, join } = await world();
    const { stream } = await join();
    const facts = { lease: '01k', kind: 'process', resource: 'example.com/gpu', devices: 2 };
    const message = 'lease 01k of secret/name (uid 7) was given: gpu-1, gpu-2 of example.com/gpu';
    source.journal.record({
      type: 'allocated',
      uid: undefined,
      plugin: 'DevicePlugin/example.com/gpu',
      message,
      facts,
    });
    source.journal.record({ type: 'released', uid: undefined, plugin: 'DevicePlugin/example.com/gpu', message });
    await clock.advance(1000);
    assert.doesNotMatch(stream.text, /secret/);
    assert.match(stream.text, /lease 01k bound to a process: allocated, 2 of example\.com\/gpu/);
  });
});
