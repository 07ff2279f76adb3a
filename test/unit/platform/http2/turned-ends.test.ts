import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PREFACE } from '../../../../src/platform/http2/frames.js';
import { BorderBed } from '../../../support/http2/border-bed.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';
import { settings } from '../../../support/http2/raw-peer.js';
import { HeldTurns } from '../../../support/http2/read-pace.js';

void describe('the border of an ordinary user', () => {
  void it('ends in its turn: connections that came together end together', async () => {
    const turns = new HeldTurns();
    const bed = new BorderBed({}, turns).serve();
    bed.socket.destroy();
    await bed.settle();
    assert.ok(!bed.border.destroyed);
    turns.waiting.shift()?.();
    assert.ok(bed.border.destroyed);
  });

  for (const comes of [true, false]) {
    void it(`has a passed deadline wait for a turn, too, and looks again then: what was missing ${comes ? 'came' : 'did not come'}`, async () => {
      const turns = new HeldTurns();
      const bed = new BorderBed({}, turns).serve();
      await bed.pass(2 * guardSettings.prefaceMs);
      assert.equal(turns.waiting.length, 1);
      assert.ok(!bed.border.destroyed);
      if (comes) await bed.send(Buffer.concat([PREFACE, settings()]));
      for (let next = turns.waiting.shift(); next !== undefined; next = turns.waiting.shift()) next();
      await bed.pass(5);
      assert.deepEqual(bed.codes, comes ? [] : ['SLOW_PREFACE']);
      assert.equal(bed.border.destroyed, !comes);
      bed.border.destroy();
    });
  }
});
