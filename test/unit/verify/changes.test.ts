import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Changes } from '../../../src/verify/changes.js';

const LONG_MS = 60_000;
const never = new AbortController().signal;

describe('waiting on changes', () => {
  it('ends with what is seen, at once or after a change', async () => {
    const changes = new Changes(never);
    let seen: string | undefined = 'at once';
    assert.equal(await changes.until(() => seen, LONG_MS), 'at once');
    seen = undefined;
    const later = changes.until(() => seen, LONG_MS);
    changes.happened();
    seen = 'later';
    changes.happened();
    assert.equal(await later, 'later');
  });

  it('ends with nothing when the time is over, after a last look', async () => {
    const changes = new Changes(never);
    let looks = 0;
    assert.equal(await changes.until(() => ++looks > 1, 0), true);
    assert.equal(await changes.until(() => false, 0), undefined);
    assert.equal(looks, 2);
  });

  it('ends with the failure when nothing can happen any more, but not before what has happened is seen', async () => {
    const changes = new Changes(never);
    changes.fail(new Error('the broker is gone'));
    await assert.rejects(
      changes.until(() => false, LONG_MS),
      /the broker is gone/,
    );
    await assert.rejects(changes.pass(LONG_MS), /the broker is gone/);
    assert.equal(await changes.until(() => 'seen', LONG_MS), 'seen');
  });

  it('ends with the reason of its signal', async () => {
    const halt = new AbortController();
    const changes = new Changes(halt.signal);
    const waiting = changes.until(() => false, LONG_MS);
    halt.abort(new Error('Ctrl-C'));
    await assert.rejects(waiting, /Ctrl-C/);
    await assert.rejects(
      changes.until(() => 'seen', LONG_MS),
      /Ctrl-C/,
    );
    assert.throws(() => changes.signal.throwIfAborted(), /Ctrl-C/);
  });
});
