import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Spool } from '../../../src/journal/spool.js';
import type { BrokerEvent } from '../../../src/model/event.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordedLog } from '../../support/recorders.js';
import { silentLog } from '../../support/silence.js';

function event(seq: number): BrokerEvent {
  return { time: '', seq, type: 'state', reason: '', plugin: '', socket: '', message: `e${seq}` };
}

describe('the spool of events', () => {
  it('writes an event after the small file that came while that was written', async () => {
    const clock = new FakeClock();
    const kept = [event(1)];
    let text = '';
    const spool: Spool = new Spool(
      {
        readTail: () => Promise.resolve(undefined),
        append: (more) => Promise.resolve(void (text += more)),
        room: () => Promise.resolve(undefined),
        replace: (whole) => {
          spool.add(event(2));
          text = whole;
          return Promise.resolve();
        },
      },
      clock,
      () => kept,
      silentLog,
    );
    spool.found(5 * 1024 * 1024);
    spool.add(event(1));
    await clock.advance(1000);
    const numbers = text.split('\n').flatMap((line) => /"message":"(e\d)"/.exec(line)?.[1] ?? []);
    assert.deepEqual(numbers, ['e1', 'e2']);
  });

  it('makes a file small that turns out to be long while events are written to it', async () => {
    const clock = new FakeClock();
    let [appended, text] = ['', ''];
    const spool: Spool = new Spool(
      {
        readTail: () => Promise.resolve(undefined),
        append: (more) => {
          spool.found(5 * 1024 * 1024);
          return Promise.resolve(void (appended += more));
        },
        room: () => Promise.resolve(undefined),
        replace: (whole) => Promise.resolve(void (text = whole)),
      },
      clock,
      () => [event(1)],
      silentLog,
    );
    spool.add(event(1));
    await clock.advance(1000);
    assert.match(appended, /"message":"e1"/);
    assert.match(text, /"message":"e1"/);
  });

  it('tries again to make a file small that the disk did not replace', async () => {
    const clock = new FakeClock();
    let replaced = 0;
    const spool = new Spool(
      {
        readTail: () => Promise.resolve(undefined),
        append: () => Promise.resolve(),
        room: () => Promise.resolve(undefined),
        replace: () => ((replaced += 1) === 1 ? Promise.reject(new Error('the disk is full')) : Promise.resolve()),
      },
      clock,
      () => [event(1)],
      silentLog,
    );
    spool.found(5 * 1024 * 1024);
    await clock.advance(60_000);
    assert.equal(replaced, 2);
  });

  it('leaves room on the disk for generations, tells that once, and writes what waited when there is room', async () => {
    const { clock, disk, spool, log } = smallDisk();
    disk.freeBytes = disk.totalBytes / 4 + 10;
    for (let seq = 1; seq <= 3; seq += 1) {
      spool.add(event(seq));
      await clock.advance(10_000);
    }
    assert.equal(disk.text, '');
    assert.deepEqual(
      log.lines.map((line) => line.event),
      ['journal.without-room'],
    );
    disk.freeBytes = disk.totalBytes;
    await clock.advance(10_000);
    assert.deepEqual(seqsIn(disk.text), [1, 2, 3]);
    assert.equal(log.lines.at(-1)?.event, 'journal.written');
  });

  it('has an eighth of a small disk at most, of the newest events', async () => {
    const { clock, disk, spool, kept } = smallDisk();
    spool.found(0);
    for (let seq = 1; seq <= 500; seq += 1) {
      kept.push(event(seq));
      spool.add(event(seq));
      if (seq % 10 === 0) await clock.advance(1000);
      assert.ok(disk.text.length <= disk.totalBytes / 8 + 2000, `${String(disk.text.length)} bytes`);
    }
    const last = seqsIn(disk.text);
    assert.ok(last.length > 10);
    assert.deepEqual(
      last,
      Array.from(last, (_, index) => 500 - last.length + 1 + index),
    );
  });

  it('writes its last line on a full disk without the events that wait', async () => {
    const { disk, spool } = smallDisk();
    disk.freeBytes = 200;
    spool.add(event(1));
    await spool.close(7);
    assert.deepEqual(seqsIn(disk.text), []);
    assert.match(disk.text, /7/);
  });
});

/** The numbers of the events in a file. */
function seqsIn(text: string): number[] {
  return text.split('\n').flatMap((line) => {
    const seq = /"message":"e(\d+)"/.exec(line)?.[1];
    return seq === undefined ? [] : [Number(seq)];
  });
}

/** A spool whose file stands on a disk of 128 KiB. */
function smallDisk() {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const kept: BrokerEvent[] = [];
  const disk = { text: '', freeBytes: 131_072, totalBytes: 131_072 };
  const file = {
    readTail: () => Promise.resolve(undefined),
    room: () => Promise.resolve({ freeBytes: disk.freeBytes, totalBytes: disk.totalBytes }),
    append: (more: string) => Promise.resolve(void (disk.text += more)),
    replace: (whole: string) => Promise.resolve(void (disk.text = whole)),
  };
  return { clock, log, kept, disk, spool: new Spool(file, clock, () => kept, log) };
}
