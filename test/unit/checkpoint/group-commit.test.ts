import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { GroupCommit, type Durability } from '../../../src/checkpoint/group-commit.js';
import { seededRandom } from '../../support/seeded-random.js';
import { FakeClock } from '../../support/fake-clock.js';

/** A disk of which every write is ended by the test. */
class Bench {
  readonly clock = new FakeClock();
  readonly failures: (string | undefined)[] = [];
  readonly attempts: string[] = [];
  readonly fates: string[] = [];
  writes = 0;
  sweeps = 0;
  #end: ((failure?: Error) => void) | undefined;

  readonly commit = new GroupCommit({
    clock: this.clock,
    random: seededRandom(1),
    deadlineMs: () => 2000,
    write: () =>
      new Promise((resolve, reject) => {
        this.writes += 1;
        this.#end = (failure) => (failure === undefined ? resolve() : reject(failure));
      }),
    afterwards: async () => void (this.sweeps += 1),
    onFailure: (failure) => this.failures.push(failure),
    onAttempt: (result, seconds) => this.attempts.push(`${result} ${seconds.toFixed(3)}`),
  });

  save(name: string): void {
    void this.commit.save().then((fate) => this.fates.push(`${name} ${fate}`));
  }

  /** Lets time pass until the next attempt has begun. */
  async nextWrite(): Promise<void> {
    for (const before = this.writes; this.writes === before;) await this.clock.advance(10);
  }

  async end(failure?: string): Promise<void> {
    assert.ok(this.#end, 'a write is under way');
    const end = this.#end;
    this.#end = undefined;
    end(failure === undefined ? undefined : new Error(failure));
    await this.clock.settle();
  }
}

describe('group commit', () => {
  it('writes at once when nothing is being written', async () => {
    const bench = new Bench();
    bench.save('a');
    assert.equal(bench.writes, 1);
    await bench.end();
    assert.deepEqual(bench.fates, ['a durable']);
    assert.equal(bench.clock.pending, 0);
  });

  it('lets all changes made during a write share the next one', async () => {
    const bench = new Bench();
    bench.save('a');
    for (const name of ['b', 'c', 'd']) bench.save(name);
    assert.equal(bench.writes, 1);
    await bench.end();
    assert.deepEqual(bench.fates, ['a durable']);
    assert.equal(bench.writes, 2);
    await bench.end();
    assert.deepEqual(bench.fates, ['a durable', 'b durable', 'c durable', 'd durable']);
    assert.equal(bench.writes, 2);
  });

  it('gathers for a moment between the writes of a crowd, and never makes a lone caller wait', async () => {
    const bench = new Bench();
    for (const name of ['a', 'b', 'c']) bench.save(name);
    await bench.end();
    bench.save('d');
    assert.equal(bench.writes, 2, 'a was alone, so b and c do not wait');
    await bench.end();
    assert.equal(bench.writes, 2, 'b and c shared a write, so d waits for company');
    await bench.clock.advance(3);
    bench.save('e');
    await bench.clock.advance(2);
    assert.equal(bench.writes, 3);
    await bench.end();
    bench.save('f');
    assert.equal(bench.writes, 3, 'd and e shared a write, so f waits although nothing is being written');
    await bench.clock.advance(5);
    await bench.end();
    await bench.clock.advance(100);
    bench.save('g');
    assert.equal(bench.writes, 5, 'the crowd is gone, so g does not wait');
    await bench.end();
    bench.save('h');
    assert.equal(bench.writes, 6, 'g was alone, so h does not wait');
    await bench.end();
    assert.equal(bench.fates.length, 8);
    assert.equal(bench.clock.pending, 0);
  });

  it('makes a steady crowd share writes', async () => {
    const bench = new Bench();
    for (let ms = 0; ms < 200; ms += 1) {
      bench.save(`a${ms}`);
      bench.save(`b${ms}`);
      await bench.clock.advance(1);
      if (bench.commit.isWriting) await bench.end();
    }
    assert.ok(bench.writes <= 200 / 5 + 5, String(bench.writes));
    bench.commit.close();
  });

  it('lets a change that nobody waits for wait for one that somebody waits for, or for a moment', async () => {
    const bench = new Bench();
    bench.commit.touch();
    await bench.clock.advance(19);
    bench.commit.touch();
    assert.equal(bench.writes, 0);
    await bench.clock.advance(1);
    assert.equal(bench.writes, 1);
    await bench.end();
    bench.commit.touch();
    bench.save('a');
    assert.equal(bench.writes, 2, 'a waits for nobody, and takes it along');
    bench.commit.touch();
    await bench.end();
    await bench.clock.advance(10);
    assert.equal(bench.writes, 2);
    bench.save('b');
    assert.equal(bench.writes, 3);
    await bench.end();
    assert.deepEqual(bench.fates, ['a durable', 'b durable']);
    assert.equal(bench.clock.pending, 0);
  });

  it('flushes a crowd at once', async () => {
    const bench = new Bench();
    for (const name of ['a', 'b', 'c']) bench.save(name);
    await bench.end();
    await bench.end();
    bench.save('d');
    assert.equal(bench.writes, 2);
    const flushed = bench.commit.flush(5000);
    assert.equal(bench.writes, 3);
    await bench.end();
    assert.equal(await flushed, 'durable');
    assert.equal(bench.clock.pending, 0);
  });

  it('does not blame a save that reached the disk for a later one that did not', async () => {
    const bench = new Bench();
    bench.save('a');
    bench.save('b');
    await bench.end();
    await bench.end('ENOSPC');
    assert.deepEqual(bench.fates, ['a durable', 'b not-durable']);
    assert.deepEqual(bench.failures, ['ENOSPC']);
    bench.commit.close();
  });

  it('gives changes made during a failing write an attempt of their own at once', async () => {
    const bench = new Bench();
    bench.save('a');
    bench.save('b');
    await bench.end('EIO');
    assert.deepEqual(bench.fates, ['a not-durable']);
    assert.equal(bench.writes, 2);
    await bench.end();
    assert.deepEqual(bench.fates, ['a not-durable', 'b durable']);
    assert.deepEqual(bench.failures, ['EIO', undefined], 'the second write holds both changes');
    assert.equal(bench.clock.pending, 0);
  });

  it('tries again by itself, ever more slowly, until everything is on the disk', async () => {
    const bench = new Bench();
    const waits: number[] = [];
    bench.save('a');
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      await bench.end('EROFS');
      const failedAt = bench.clock.mono();
      await bench.nextWrite();
      waits.push(bench.clock.mono() - failedAt);
    }
    await bench.end();
    assert.deepEqual(bench.failures, ['EROFS', undefined]);
    assert.ok(waits[0] !== undefined && waits[0] >= 120 && waits[0] <= 260, String(waits));
    assert.ok(
      waits.slice(-3).every((wait) => wait >= 2500 && wait <= 5010),
      String(waits),
    );
    assert.deepEqual(bench.fates, ['a not-durable']);
    assert.equal(bench.clock.pending, 0);
  });

  it('answers at once while writes fail, and has those changes written later', async () => {
    const bench = new Bench();
    bench.save('a');
    await bench.end('ENOSPC');
    bench.save('b');
    await bench.clock.settle();
    assert.deepEqual(bench.fates, ['a not-durable', 'b not-durable']);
    await bench.nextWrite();
    await bench.end();
    assert.deepEqual(bench.failures, ['ENOSPC', undefined]);
    bench.save('c');
    await bench.end();
    assert.equal(bench.fates.at(-1), 'c durable');
  });

  it('answers after the deadline when the disk hangs, and is well again once it has caught up', async () => {
    const bench = new Bench();
    bench.save('a');
    await bench.clock.advance(1000);
    bench.save('b');
    await bench.clock.advance(1000);
    assert.deepEqual(bench.fates, ['a not-durable']);
    await bench.clock.advance(1000);
    assert.deepEqual(bench.fates, ['a not-durable', 'b not-durable']);
    bench.save('c');
    await bench.clock.settle();
    assert.equal(bench.fates.at(-1), 'c not-durable');
    assert.equal(bench.writes, 1, 'one write at a time, whatever it does');
    assert.deepEqual(bench.failures, [
      'it was not on the disk after 2000 ms: the disk is slow, or the broker has too little processor time',
    ]);
    await bench.end();
    assert.equal(bench.failures.length, 1, 'b and c are still not on the disk');
    assert.equal(bench.writes, 2);
    await bench.end();
    assert.deepEqual(bench.failures.slice(1), [undefined]);
    assert.equal(bench.clock.pending, 0);
  });

  it('is made once a second for changes that nobody waits for, after sixteen at once, and at once for one that is waited for', async () => {
    const bench = new Bench();
    const touchFor = async (ms: number): Promise<number> => {
      const before = bench.writes;
      for (let spent = 0; spent < ms; spent += 40) {
        bench.commit.touch();
        await bench.clock.advance(40);
        if (bench.commit.isWriting) await bench.end();
      }
      return bench.writes - before;
    };
    const first = await touchFor(10_000);
    assert.ok(first >= 16 && first <= 27, `${String(first)} writes in ten seconds`);
    const later = await touchFor(10_000);
    assert.ok(later >= 9 && later <= 11, `${String(later)} writes in ten more`);
    bench.commit.touch();
    bench.save('a');
    await bench.end();
    assert.deepEqual(bench.fates, ['a durable'], 'and what waited goes with it');
    assert.equal(bench.clock.pending, 0);
  });

  it('says each failure once, not at each attempt', async () => {
    const bench = new Bench();
    bench.save('a');
    for (const failure of ['EIO', 'EIO', 'ENOSPC', 'ENOSPC']) {
      await bench.end(failure);
      await bench.nextWrite();
    }
    assert.deepEqual(bench.failures, ['EIO', 'ENOSPC']);
    bench.commit.close();
  });

  it('flushes at once, also while it waits between attempts', async () => {
    const bench = new Bench();
    const flushed: Durability[] = [];
    void bench.commit.flush(5000).then((fate) => flushed.push(fate));
    await bench.clock.settle();
    assert.deepEqual(flushed, ['durable'], 'there is nothing to write');
    bench.save('a');
    await bench.end('EIO');
    void bench.commit.flush(5000).then((fate) => flushed.push(fate));
    assert.equal(bench.writes, 2);
    await bench.end();
    assert.deepEqual(flushed, ['durable', 'durable']);
    assert.equal(bench.clock.pending, 0);
  });

  it('gives up a flush after its own limit', async () => {
    const bench = new Bench();
    bench.save('a');
    await bench.clock.advance(2000);
    const flushed = bench.commit.flush(5000);
    await bench.clock.advance(5000);
    assert.equal(await flushed, 'not-durable');
    assert.ok(bench.commit.isWriting);
    bench.commit.close();
    assert.equal(bench.clock.pending, 0);
  });

  it('tells how long each attempt took and how it ended', async () => {
    const bench = new Bench();
    bench.save('a');
    await bench.clock.advance(30);
    await bench.end('EIO');
    await bench.nextWrite();
    await bench.end();
    assert.equal(bench.attempts[0], 'failed 0.030');
    assert.match(bench.attempts[1] ?? '', /^ok 0\.0/);
    assert.equal(bench.sweeps, 1, 'the work after a write follows only good ones');
  });

  it('answers all waiters when it is closed, and leaves no timer', async () => {
    const bench = new Bench();
    bench.save('a');
    bench.save('b');
    bench.commit.close();
    await bench.clock.settle();
    assert.deepEqual(bench.fates, ['a not-durable', 'b not-durable']);
    bench.save('c');
    await bench.end();
    assert.equal(bench.fates.at(-1), 'c not-durable');
    assert.equal(bench.writes, 1);
    assert.equal(bench.clock.pending, 0);
  });
});
