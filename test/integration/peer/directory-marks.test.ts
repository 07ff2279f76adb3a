import assert from 'node:assert/strict';
import { fstat, fstatSync, openSync } from 'node:fs';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { DirectoryMarks, type MarkCalls } from '../../../src/platform/peer/directory-marks.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';

const open = (): number => openSync('/', 'r');
const short = (code: string): Error => Object.assign(new Error(code), { code });

/** Marks whose calls answer when they are told to, and what was done. */
function world() {
  const [clock, done] = [new FakeClock(), [] as string[]];
  const answers: ((watch: number) => void)[] = [];
  const calls: MarkCalls = {
    add: () => {
      done.push('add');
      return new Promise((resolve) => answers.push(resolve));
    },
    addNow: () => 7,
    remove: (watch) => done.push(`remove ${String(watch)}`),
    close: () => done.push('close'),
  };
  const marks = new DirectoryMarks(clock, calls);
  const during = (name: string): Promise<number> => marks.during(open, () => done.push(name));
  const asked = (times: number): Promise<unknown> => eventually('asked', () => answers.length === times);
  return { clock, done, answers, marks, during, asked };
}

describe('marks of directories', () => {
  it('are made one at a time, before the watch, and are let go once that stands', async () => {
    const { done, answers, during, asked } = world();
    const both = [during('one'), during('two')];
    await asked(1);
    assert.deepEqual(done, ['add']);
    answers[0]?.(7);
    await asked(2);
    answers[1]?.(8);
    await Promise.all(both);
    assert.deepEqual(done, ['add', 'one', 'remove 7', 'add', 'two', 'remove 8']);
  });

  it('say how long the system took for them, and not how long the thread pool or the program itself was busy', async () => {
    const clock = new FakeClock();
    let answer = (_watch: number): void => undefined;
    const calls: MarkCalls = {
      add: () => {
        clock.pass(300); // in the very turn in which it is asked
        return new Promise((resolve) => (answer = resolve));
      },
      addNow: () => 7,
      remove: () => undefined,
      close: () => undefined,
    };
    const took = new DirectoryMarks(clock, calls).during(open, () => undefined);
    // The pool takes what it is asked in its order.
    for (let asked = 0; asked < 2; asked += 1) await promisify(fstat)(0);
    await nextTurn();
    clock.pass(40);
    answer(7);
    assert.equal(await took, 40);
  });

  it('stay while somebody holds them, and end once', async () => {
    const { done, answers, marks, during, asked } = world();
    const unmark = marks.hold('/');
    const set = during('watch');
    await asked(1);
    answers[0]?.(7);
    await set;
    assert.deepEqual(done, ['add', 'watch']);
    unmark();
    unmark();
    assert.deepEqual(done, ['add', 'watch', 'remove 7']);
  });

  it('take nothing from the watch: what it fails for is given back first, whoever holds it', async () => {
    for (const code of ['ENOSPC', 'EMFILE']) {
      const { done, answers, marks, asked } = world();
      const unmark = marks.hold('/');
      let tries = 0;
      const set = marks.during(open, () => {
        done.push('watch');
        tries += 1;
        if (tries === 1) throw short(code);
      });
      await asked(1);
      answers[0]?.(7);
      await set;
      unmark();
      assert.deepEqual(done, ['add', 'watch', 'remove 7', ...(code === 'EMFILE' ? ['close'] : []), 'watch']);
      const next = marks.during(open, () => done.push('next'));
      if (code === 'ENOSPC') {
        await asked(2);
        answers[1]?.(-1);
      }
      await next;
      assert.equal(answers.length, code === 'ENOSPC' ? 2 : 1);
    }
  });

  it('that cannot be made hold up nothing, nor does a watch that fails', async () => {
    const { done, answers, marks, during, asked } = world();
    let opened = 0;
    const failing = marks.during(
      () => (opened = open()),
      () => {
        throw short('ENOENT');
      },
    );
    const [gone, next] = [
      marks.during(
        () => undefined,
        () => done.push('gone'),
      ),
      during('next'),
    ];
    const failed = assert.rejects(failing, /ENOENT/);
    await asked(1);
    answers[0]?.(-1);
    await failed;
    assert.throws(() => fstatSync(opened), /EBADF/);
    await gone;
    await asked(2);
    answers[1]?.(-1);
    await next;
    assert.deepEqual(done, ['add', 'add', 'next']);
    await assert.rejects(
      marks.during(
        () => assert.fail(short('EACCES')),
        () => undefined,
      ),
      /EACCES/,
    );
  });

  it('that take too long are waited for no more, nor are others tried until they have come, when they are let go', async () => {
    const { clock, done, answers, during, asked } = world();
    const both = [during('one'), during('two')];
    await asked(1);
    await clock.advance(1999);
    assert.deepEqual(done, ['add']);
    await clock.advance(1);
    await Promise.all(both);
    assert.deepEqual(done, ['add', 'one', 'two']);
    assert.equal(clock.pending, 0);
    answers[0]?.(7);
    await eventually('it is let go', () => done.includes('remove 7'));
    const later = during('three');
    await asked(2);
    answers[1]?.(8);
    await later;
    assert.deepEqual(done.slice(-3), ['add', 'three', 'remove 8']);
  });
});
