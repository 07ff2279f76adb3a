import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ListAndWatchResponse } from '../../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { decodeList } from '../../../../src/platform/wire/list-decoder.js';
import { nextTurn } from '../../../../src/platform/time/next-turn.js';

describe('lists that come at one moment', () => {
  const raw = ListAndWatchResponse.encode({ devices: [{ id: 'a', health: 'Healthy' }] });

  it('are decoded one in each turn of the event loop, so that others have their turn in between', async () => {
    const done: number[] = [];
    const all = Array.from({ length: 20 }, async (_, index) => {
      const decoded = await decodeList(raw, 10, new AbortController().signal);
      assert.ok(decoded.ok);
      done.push(index);
    });
    let most = 0;
    for (let turns = 0; done.length < 20 && turns < 1_000; turns++) {
      const before = done.length;
      await nextTurn();
      most = Math.max(most, done.length - before);
    }
    assert.equal(most, 1);
    assert.deepEqual(
      done,
      [...done].sort((a, b) => a - b),
    );
    await Promise.all(all);
  });

  it('are not decoded where nobody wants them any more', async () => {
    const halt = new AbortController();
    const decoding = decodeList(raw, 10, halt.signal);
    halt.abort(new Error('gone'));
    await assert.rejects(decoding, /gone/);
  });
});
