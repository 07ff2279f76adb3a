import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { abortable, asError, sleep, timerMs, withDeadline } from '../../../src/kernel/clock.js';
import { FakeClock } from '../../support/fake-clock.js';

const late = (): Error => new Error('too late');
const never = (): Promise<never> => new Promise(() => undefined);

describe('the delay of a timer', () => {
  it('is never one that Node takes for a millisecond', () => {
    assert.deepEqual([-1, 0, 250, 2 ** 31, Infinity].map(timerMs), [0, 0, 250, 2 ** 31 - 1, 2 ** 31 - 1]);
  });
});

describe('sleep', () => {
  it('ends after its time, and not before', async () => {
    const clock = new FakeClock();
    let awake = false;
    const slept = sleep(clock, 100).then(() => (awake = true));
    await clock.advance(99);
    assert.equal(awake, false);
    await clock.advance(1);
    await slept;
  });

  it('ends at once with the reason of its signal, and leaves no alarm', async () => {
    const clock = new FakeClock();
    const halt = new AbortController();
    const slept = sleep(clock, 100, halt.signal);
    halt.abort(new Error('enough'));
    await assert.rejects(slept, /enough/);
    await assert.rejects(sleep(clock, 100, halt.signal), /enough/);
    assert.equal(clock.pending, 0);
  });
});

describe('withDeadline', () => {
  it('passes on what the work gives, and cancels its alarm', async () => {
    const clock = new FakeClock();
    assert.equal(await withDeadline(clock, 100, late, () => Promise.resolve(5)), 5);
    await assert.rejects(
      withDeadline(clock, 100, late, () => Promise.reject(new Error('work failed'))),
      /work failed/,
    );
    assert.equal(clock.pending, 0);
  });

  it('rejects when the time is over, and tells the work so', async () => {
    const clock = new FakeClock();
    let told: unknown;
    const work = withDeadline(clock, 100, late, (signal) => {
      signal.addEventListener('abort', () => void (told = signal.reason));
      return never();
    });
    const rejected = assert.rejects(work, /too late/);
    await clock.advance(100);
    await rejected;
    assert.match(String(told), /too late/);
  });

  it('ends with the outer signal, also with one that has aborted before', async () => {
    const clock = new FakeClock();
    const outer = new AbortController();
    const work = withDeadline(clock, 100, late, never, outer.signal);
    outer.abort(new Error('the caller has gone'));
    await assert.rejects(work, /the caller has gone/);
    await assert.rejects(withDeadline(clock, 100, late, never, outer.signal), /the caller has gone/);
    assert.equal(clock.pending, 0);
  });

  it('does not depend on the wall clock', async () => {
    const clock = new FakeClock();
    const rejected = assert.rejects(withDeadline(clock, 100, late, never), /too late/);
    clock.stepWall(-86_400_000);
    await clock.advance(100);
    await rejected;
  });
});

describe('abortable', () => {
  it('drops what comes after the abort, a rejection too', async () => {
    const halt = new AbortController();
    let fail = (_: Error): void => undefined;
    const work = new Promise<never>((_resolve, reject) => (fail = reject));
    const followed = abortable(work, halt.signal);
    halt.abort(new Error('given up'));
    await assert.rejects(followed, /given up/);
    fail(new Error('nobody listens any more'));
    await new FakeClock().settle();
  });
});

describe('asError', () => {
  it('makes an error of whatever was thrown', () => {
    const error = new TypeError('x');
    assert.equal(asError(error), error);
    assert.equal(asError('text').message, 'text');
    assert.equal(asError(undefined).message, 'aborted');
    assert.deepEqual(asError({ odd: 1 }).cause, { odd: 1 });
  });
});
