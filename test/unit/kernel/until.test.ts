import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { asError } from '../../../src/kernel/clock.js';
import { Until } from '../../../src/kernel/until.js';

describe('until the end of what lasts, or of one work', () => {
  const reasonOf = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(asError(signal.reason).message)));

  it('aborts with the reason of whichever ends first, before the work began too', async () => {
    const [brief, lasting] = [new AbortController(), new AbortController()];
    const until = new Until(lasting.signal);
    const first = until.or(brief.signal, reasonOf);
    const second = until.or(new AbortController().signal, reasonOf);
    brief.abort(new Error('one went'));
    assert.equal(await first, 'one went');
    lasting.abort(new Error('all go'));
    assert.equal(await second, 'all go');
    const late = await until.or(new AbortController().signal, (signal) =>
      Promise.resolve(asError(signal.reason).message),
    );
    assert.equal(late, 'all go');
  });

  it('leaves nothing in the signal that lasts, however many works there are, together or one by one', async () => {
    const warnings: Error[] = [];
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    const { signal } = new AbortController();
    const until = new Until(signal);
    await Promise.all(
      Array.from({ length: 100 }, () => until.or(new AbortController().signal, () => Promise.resolve())),
    );
    for (let nth = 0; nth < 100; nth++) {
      await assert.rejects(
        until.or(new AbortController().signal, () => Promise.reject(new Error('no'))),
        /no/,
      );
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', heard);
    assert.deepEqual(warnings, []);
    assert.equal(getEventListeners(signal, 'abort').length, 1);
  });
});
