import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Looks } from '../../../src/kernel/looks.js';
import { FakeClock } from '../../support/fake-clock.js';

/** Looks that take half a millisecond each, or longer. */
class Bed {
  readonly fake = new FakeClock();
  readonly seen: string[] = [];
  /** Looks in one turn. */
  most = 0;
  #spent = 0;
  takesMs = 0.5;
  readonly looks = new Looks({
    clock: {
      wall: () => this.fake.wall(),
      mono: () => this.fake.mono() + this.#spent,
      alarm: (ms, ring) =>
        this.fake.alarm(ms, () => {
          const before = this.seen.length;
          ring();
          this.most = Math.max(this.most, this.seen.length - before);
        }),
    },
    look: (path) => {
      this.#spent += this.takesMs;
      this.seen.push(path);
    },
    groupOf: (path) => path.split('/')[1] ?? '?',
    first: 'first',
  });

  /** The sightings since the last question. */
  news(): string[] {
    return this.seen.splice(0);
  }
}

describe('looks', () => {
  it('are made at once where there is time', () => {
    const bed = new Bed();
    bed.looks.at('/a/1');
    assert.deepEqual(bed.news(), ['/a/1']);
    assert.equal(bed.fake.pending, 0);
  });

  it('of thousands are a few in a turn, and of one group that has many the others do not feel', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 1000; nth += 1) bed.looks.at(`/many/${String(nth)}`);
    assert.ok(bed.news().length <= 7, 'the first turn looks at what takes 3 ms');
    // As fast as it can for a while, and then slowly.
    await bed.fake.advance(1);
    assert.ok(bed.news().length >= 100);
    await bed.fake.advance(100);
    assert.ok(bed.news().length <= 70);
    bed.looks.at('/other/1');
    await bed.fake.advance(10);
    assert.ok(bed.news().slice(0, 2).includes('/other/1'));
    await bed.fake.advance(20_000);
    assert.ok(bed.most <= 7, `${String(bed.most)} in one turn`);
    assert.equal(bed.fake.pending, 0);
  });

  it('of the first group wait for those of no other', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 1000; nth += 1) bed.looks.at(`/${String(nth % 10)}/${String(nth)}`);
    bed.news();
    for (let nth = 0; nth < 5; nth += 1) bed.looks.at(`/first/${String(nth)}`);
    await bed.fake.advance(0);
    const first = bed.news().slice(0, 5);
    assert.ok(
      first.every((path) => path.startsWith('/first/')),
      first.join(' '),
    );
    bed.looks.stop();
  });

  it('that are long take a fifth of the time all the same, and one that hung is forgiven', async () => {
    const bed = new Bed();
    bed.takesMs = 100;
    for (let nth = 0; nth < 500; nth += 1) {
      bed.looks.at('/a/1');
      await bed.fake.advance(10);
    }
    const { length } = bed.news();
    assert.ok(length > 5 && length <= 14, `${String(length)} of 100 ms in 5 s`);
    bed.looks.at('/a/1');
    await bed.fake.advance(2000);
    bed.news();
    bed.takesMs = 60_000;
    bed.looks.at('/a/hung');
    bed.takesMs = 0.5;
    bed.looks.at('/a/2');
    await bed.fake.advance(600);
    assert.deepEqual(bed.news(), ['/a/hung', '/a/2']);
  });

  it('at one path that was said often are one', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 20; nth += 1) bed.looks.at(`/a/${String(nth)}`);
    bed.news();
    for (let nth = 0; nth < 100; nth += 1) bed.looks.at('/b/1');
    await bed.fake.advance(1000);
    assert.equal(bed.news().filter((path) => path === '/b/1').length, 1);
  });

  it('that wait are bounded', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 10_000; nth += 1) bed.looks.at(`/a/${String(nth)}`);
    await bed.fake.advance(60_000);
    assert.ok(bed.news().length < 5000);
  });

  it('at what is in a directory read it as they go, take turns with what is said, and begin anew when asked anew', async () => {
    const bed = new Bed();
    let read = 0;
    let closed = 0;
    function* entries(): Generator<string | undefined> {
      try {
        for (let nth = 0; nth < 5000; nth += 1) {
          read += 1;
          yield nth % 2 === 0 ? `/dir/${String(nth)}` : undefined;
        }
      } finally {
        closed += 1;
      }
    }
    bed.looks.in('/dir', entries());
    assert.ok(read <= 14, 'no more is read than is looked at');
    bed.looks.at('/dir/said');
    await bed.fake.advance(1);
    assert.ok(bed.news().includes('/dir/said'));
    bed.looks.in('/dir', entries());
    assert.equal(closed, 1);
    await bed.fake.advance(60_000);
    assert.equal(new Set(bed.news()).size, 2500, 'of a directory nothing is left out');
    bed.looks.in('/dir', entries());
    bed.looks.stop();
    assert.equal(closed, 3);
  });

  it('at everything are over when the last one was looked at, beside others, and never after a stop', async () => {
    const bed = new Bed();
    const all = Array.from({ length: 100 }, (_, nth) => `/all/${String(nth)}`);
    let done = 0;
    bed.looks.atAll(all, () => (done += 1));
    bed.looks.at('/x/1');
    assert.deepEqual([done, bed.looks.isLookingAtAll], [0, true]);
    await bed.fake.advance(1000);
    assert.deepEqual([done, bed.looks.isLookingAtAll, bed.news().length], [1, false, 101]);
    bed.looks.atAll([], () => (done += 1));
    assert.equal(done, 2);
    bed.looks.atAll(all, () => (done += 1));
    bed.looks.stop();
    bed.news();
    await bed.fake.advance(1000);
    assert.deepEqual([done, bed.news()], [2, []]);
  });
});
