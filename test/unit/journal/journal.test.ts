import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Journal } from '../../../src/journal/journal.js';
import { silentLog } from '../../support/silence.js';
import type { BrokerEvent, EventDraft } from '../../../src/model/event.js';
import { journalFile } from '../../../src/platform/store/journal-file.js';
import { oneAtATime } from '../../../src/platform/store/file-lane.js';
import { sleep } from '../../../src/kernel/clock.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk } from '../../support/fake-disk.js';

const FILE = '/state/events.jsonl';
const users = { ownUid: 0, userOf: (uid: number): number => uid };

interface Life {
  readonly journal: Journal;
  readonly clock: FakeClock;
}

async function newDisk(): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/state');
  return disk;
}

async function live(disk: FakeDisk, eventSeq = 0): Promise<Life> {
  const clock = new FakeClock();
  const journal = new Journal({ file: journalFile(oneAtATime(disk), FILE), clock, log: silentLog, ...users });
  await journal.open(eventSeq);
  await settled(clock, journal.restore());
  return { journal, clock };
}

async function settled<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const progress = { isDone: false };
  const done = (): void => void (progress.isDone = true);
  work.then(done, done);
  await clock.settle();
  while (!progress.isDone) await clock.advance(1);
  return work;
}

function state(message: string, plugin = 'DevicePlugin/a.b/c'): EventDraft {
  // Reasons differ, so that nothing counts as a repeat.
  return { type: 'connection', reason: message, plugin, uid: undefined, socket: '/s', message };
}

async function kept(journal: Journal, since = 0): Promise<readonly BrokerEvent[]> {
  const events: BrokerEvent[] = [];
  for await (const event of journal.events({ since, follow: false }, new AbortController().signal)) events.push(event);
  return events;
}

async function messages(journal: Journal): Promise<readonly string[]> {
  return (await kept(journal)).map(({ message }) => message);
}

function lines(disk: FakeDisk): readonly string[] {
  return (disk.peek(FILE)?.toString() ?? '').split('\n').filter((line) => line !== '');
}

describe('the journal', () => {
  it('numbers events from one, gives each its time, and keeps what was told before it was open', async () => {
    const disk = await newDisk();
    const clock = new FakeClock();
    const journal = new Journal({ file: journalFile(disk, FILE), clock, log: silentLog, ...users });
    journal.record({ type: 'broker', message: 'starting' });
    await clock.advance(1500);
    await journal.open(0);
    journal.record(state('second'));
    assert.deepEqual(await kept(journal), [
      {
        time: '2030-01-01T00:00:00.000Z',
        seq: 1,
        type: 'broker',
        reason: '',
        plugin: '',
        socket: '',
        message: 'starting',
      },
      {
        time: '2030-01-01T00:00:01.500Z',
        seq: 2,
        type: 'connection',
        reason: 'second',
        plugin: 'DevicePlugin/a.b/c',
        socket: '/s',
        message: 'second',
      },
    ]);
    assert.equal(journal.seq, 2);
    assert.deepEqual(await kept(journal, 2), (await kept(journal)).slice(1));
  });

  it('goes on with the next number after a life that ended well', async () => {
    const disk = await newDisk();
    const first = await live(disk);
    for (const message of ['a', 'b', 'c']) first.journal.record(state(message));
    await first.journal.close(5000);
    assert.equal(first.clock.pending, 0);
    const second = await live(disk, 2);
    second.journal.record(state('d'));
    assert.deepEqual(
      (await kept(second.journal)).map(({ seq, message }) => [seq, message]),
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
        [4, 'd'],
      ],
    );
  });

  it('never gives a number twice, also when the last events of a killed life are lost', async () => {
    const disk = await newDisk();
    const first = await live(disk);
    first.journal.record(state('a'));
    await first.clock.advance(50);
    for (const message of ['b', 'c']) first.journal.record(state(message));
    const seen = first.journal.seq;
    const second = await live(disk, 1);
    second.journal.record(state('d'));
    const [a, d] = await kept(second.journal);
    assert.deepEqual([a?.message, d?.message], ['a', 'd']);
    assert.ok(d !== undefined && d.seq > seen);
  });

  it('goes on above the number of the checkpoint when its file is gone', async () => {
    const { journal } = await live(await newDisk(), 500);
    journal.record(state('a'));
    assert.ok(journal.seq > 500);
  });

  it('has events on the file a moment later, gathered in few appends', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    for (let index = 0; index < 100; index += 1) journal.record(state(`e${index}`));
    await clock.advance(50);
    assert.equal(lines(disk).length, 100);
    assert.equal(disk.operations.filter((operation) => operation.startsWith('append')).length, 1);
    assert.equal(clock.pending, 0);
  });

  it('has repeats that were only counted on the file when it is closed', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    for (let count = 0; count < 9; count += 1) journal.record(state('again'));
    await settled(clock, journal.close(1000));
    assert.match(lines(disk).at(-2) ?? '', /again \(6 more in 1 s/);
  });

  it('skips damaged lines, torn ones and those of other versions, and reads the rest', async () => {
    const disk = await newDisk();
    const first = await live(disk);
    for (const message of ['a', 'b', 'c', 'd']) first.journal.record(state(message));
    await first.clock.advance(50);
    const [a = '', b = '', c = '', d = ''] = lines(disk);
    const foreign = [
      b.slice(0, 40),
      'null',
      '[]',
      '{"seq":"7"}',
      d.replace('"connection"', '"newer-type"'),
      '\0\0\0',
      '{"closed":-1}',
    ];
    disk.plant(FILE, Buffer.from(['', a, ...foreign, c, d.slice(0, 30)].join('\n')));
    const second = await live(disk, 4);
    assert.deepEqual(await messages(second.journal), ['a', 'c']);
    second.journal.record(state('e'));
    await second.clock.advance(50);
    const third = await live(disk, 4);
    assert.deepEqual(await messages(third.journal), ['a', 'c', 'e'], 'the torn line did not swallow the next');
  });

  it('gives every event a number of its own although its file says that all numbers were given', async () => {
    const disk = await newDisk();
    disk.plant(FILE, Buffer.from(`{"closed":${Number.MAX_SAFE_INTEGER}}\n`));
    const { journal } = await live(disk);
    for (const message of ['one', 'two', 'three']) journal.record(state(message));
    const seqs = (await kept(journal)).map(({ seq }) => seq);
    assert.equal(new Set(seqs).size, 3, String(seqs));
    assert.ok(seqs.every(Number.isSafeInteger), String(seqs));
  });

  it('reads back any bytes in the file without failing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        const disk = await newDisk();
        disk.plant(FILE, Buffer.from(bytes));
        const { journal } = await live(disk);
        journal.record(state('x'));
        assert.equal((await messages(journal)).at(-1), 'x');
      }),
      { numRuns: 50 },
    );
  });

  it('keeps events while the disk fails, and writes them each once when it is over', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    disk.failAll('ENOSPC');
    journal.record(state('a'));
    await clock.advance(20_000);
    journal.record(state('b'));
    disk.failAll(undefined);
    await clock.advance(5000);
    assert.deepEqual(
      lines(disk).map((line) => (JSON.parse(line) as BrokerEvent).message),
      ['a', 'b'],
    );
    assert.equal(clock.pending, 0);
  });

  it('reads an event once that a failed append had left half done', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    for (const message of ['a', 'b', 'c', 'd']) journal.record(state(message));
    disk.failAt(disk.operations.length + 3, 'ENOSPC');
    await clock.advance(20_000);
    assert.ok(lines(disk).length > 4, 'half of it was there before');
    const second = await live(disk, 4);
    assert.deepEqual(await messages(second.journal), ['a', 'b', 'c', 'd']);
  });

  it('gives up the oldest events when the disk fails for long, and stays bounded', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    disk.failAll('EIO');
    for (let index = 0; index < 5000; index += 1) journal.record(state(`e${index}`));
    await clock.advance(6000);
    disk.failAll(undefined);
    await clock.advance(6000);
    const written = lines(disk).filter((line) => line.includes('"seq"'));
    assert.equal(written.length, 2000);
    assert.match(written.at(-1) ?? '', /e4999/, 'the oldest are given up, not the newest');
    for (let index = 0; index < 5000; index += 1) journal.record(state(`late e${index}`));
    await clock.advance(1);
    await clock.advance(6000);
    assert.equal(lines(disk).filter((line) => line.includes('late e')).length, 2000, 'a burst between two writes too');
  });

  it('loses no event that happens while the file is made small', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    let told = 0;
    for (let round = 0; round < 40; round += 1) {
      for (let index = 0; index < 500; index += 1) {
        journal.record({ ...state(`r${round} e${index}`), message: 'x'.repeat(900) });
      }
      // One each millisecond, so that some fall into each pause of the shrinking.
      for (let ms = 0; ms < 60; ms += 1) {
        journal.record(state(`told ${told}`, 'DevicePlugin/a.b/quiet'));
        told += 1;
        await clock.advance(1);
      }
    }
    await clock.advance(100);
    const written = lines(disk).flatMap((line) => /told (\d+)/.exec(line)?.[1] ?? []);
    const last = written.map(Number).slice(-50);
    assert.deepEqual(
      last,
      Array.from({ length: 50 }, (_, nth) => told - 50 + nth),
    );
    assert.deepEqual(
      (await kept(journal)).map(({ seq }) => seq),
      [...new Set((await kept(journal)).map(({ seq }) => seq))],
    );
    assert.ok(
      disk.operations.some((operation) => operation.startsWith('rename')),
      'it was made small',
    );
  });

  it('keeps the file bounded, and in it the last events of silent plugins', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    const quiet = 'DevicePlugin/a.b/quiet';
    for (let index = 0; index < 60; index += 1) journal.record(state(`q${index}`, quiet));
    let largest = 0;
    for (let round = 0; round < 40; round += 1) {
      for (let index = 0; index < 500; index += 1) {
        journal.record({ ...state(`r${round} e${index}`), message: 'x'.repeat(900) });
      }
      await clock.advance(60);
      largest = Math.max(largest, disk.peek(FILE)?.length ?? 0);
    }
    await clock.advance(100);
    assert.ok(largest > 4 * 1024 * 1024 && largest < 5 * 1024 * 1024, String(largest));
    assert.equal(journal.lastOf(quiet).length, 50);
    const second = await live(disk, journal.seq);
    assert.deepEqual(second.journal.lastOf(quiet), journal.lastOf(quiet));
    assert.equal(clock.pending, 0);
  });

  it('keeps the old file when the small one cannot be written', async () => {
    const disk = await newDisk();
    disk.plant(FILE, Buffer.from(`${'x'.repeat(4 * 1024 * 1024)}\n`));
    const { journal, clock } = await live(disk);
    const create = disk.create.bind(disk);
    disk.create = () => Promise.reject(new Error('ENOSPC'));
    journal.record(state('a'));
    await clock.advance(1000);
    assert.ok((disk.peek(FILE)?.length ?? 0) > 4 * 1024 * 1024);
    disk.create = create;
    await clock.advance(5000);
    assert.deepEqual(lines(disk).length, 1);
  });

  it('gives followers what is kept and then what happens, until they are done', async () => {
    const { journal } = await live(await newDisk());
    for (const message of ['a', 'b']) journal.record(state(message));
    const ending = new AbortController();
    const heard: string[] = [];
    const reading = (async () => {
      for await (const { message } of journal.events({ since: 2, follow: true }, ending.signal)) heard.push(message);
    })();
    await new Promise(setImmediate);
    journal.record(state('c'));
    await new Promise(setImmediate);
    journal.record(state('d'));
    await new Promise(setImmediate);
    assert.deepEqual(heard, ['b', 'c', 'd']);
    ending.abort();
    await reading;
    journal.record(state('e'));
    assert.deepEqual(heard, ['b', 'c', 'd']);
  });

  it('ends a follower that is too slow, and makes nobody wait for it', async () => {
    const { journal } = await live(await newDisk());
    const reader = journal.events({ since: 0, follow: true }, new AbortController().signal);
    const first = reader.next();
    journal.record(state('first'));
    assert.equal((await first).done, false);
    for (let index = 0; index < 1100; index += 1) journal.record(state(`e${index}`));
    await assert.rejects(reader.next(), /too slow: it missed those from number 1002 on/);
  });

  it('has a bounded number of followers, and ends them all when it is closed', async () => {
    const { journal } = await live(await newDisk());
    const readers = Array.from({ length: 64 }, () =>
      journal.events({ since: 0, follow: true }, new AbortController().signal),
    );
    const waiting = readers.map((reader) => reader.next());
    await assert.rejects(journal.events({ since: 0, follow: true }, new AbortController().signal).next(), /64 readers/);
    await journal.close(1000);
    for (const next of waiting) assert.equal((await next).done, true);
  });

  it('closes in time when the disk hangs', async () => {
    const disk = await newDisk();
    const { journal, clock } = await live(disk);
    journal.record(state('a'));
    disk.failAll('hang');
    const closing = journal.close(5000);
    await clock.advance(5000);
    await closing;
    assert.equal(clock.pending, 0);
  });

  it('waits a second for the events of earlier lives, and takes those that a slow disk gives later', async () => {
    const disk = await newDisk();
    const first = await live(disk);
    first.journal.record(state('a'));
    await settled(first.clock, first.journal.close(1000));
    const clock = new FakeClock();
    const files = journalFile(oneAtATime(disk), FILE);
    const slow = {
      ...files,
      readTail: async (bytes: number) => {
        if (bytes > 2 ** 20) await sleep(clock, 5000);
        return files.readTail(bytes);
      },
    };
    const journal = new Journal({ file: slow, clock, log: silentLog, ...users });
    await journal.open(0);
    await settled(clock, journal.restore());
    assert.deepEqual([await messages(journal), clock.mono() <= 1000], [[], true]);
    await clock.advance(5000);
    assert.deepEqual(await messages(journal), ['a']);
    await settled(clock, journal.close(1000));
    assert.equal(clock.pending, 0);
  });

  it('starts without its file when that cannot be read', async () => {
    const disk = await newDisk();
    disk.failAll('EIO');
    const { journal } = await live(disk, 7);
    journal.record(state('a'));
    assert.ok(journal.seq > 7);
  });

  it('cuts what plugins have chosen', async () => {
    const { journal } = await live(await newDisk());
    const [plugin, socket, message] = ['p', 's', 'm'].map((text) => text.repeat(5000)) as [string, string, string];
    journal.record({ type: 'refused', plugin, uid: undefined, socket, message });
    const [event] = await kept(journal);
    assert.deepEqual([event?.plugin.length, event?.socket.length, event?.message.length], [256, 256, 1024]);
    const controls = '\u0001'.repeat(5000);
    const all = { plugin: controls, socket: controls, message: controls };
    journal.record({ type: 'refused', reason: 'x', uid: undefined, ...all });
    assert.ok(Buffer.byteLength(JSON.stringify((await kept(journal))[1])) < 1024 + 2 * 256 + 200);
  });

  it('cuts nothing of how often something happened', async () => {
    const { journal } = await live(await newDisk());
    for (let nth = 0; nth < 5; nth += 1) journal.record({ type: 'refused', message: 'm'.repeat(5000) });
    await journal.close(1000);
    assert.match((await kept(journal)).at(-1)?.message ?? '', /^m{1024} \(2 more in 1 s, the last at \S+\)$/);
  });
});
