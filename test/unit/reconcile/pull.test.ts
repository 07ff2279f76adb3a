import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import type { RefusalCode } from '../../../src/model/reasons.js';
import { afterRefusal } from '../../../src/reconcile/pull.js';

describe('a plugin that was refused when the broker came back to it', () => {
  const plugin = { type: DEVICE_PLUGIN, name: 'example.com/x' };
  const after = (code: RefusalCode): object => afterRefusal(plugin, { code, message: '', retryAfterMs: 7000 });

  it('is not asked again before the time that the refusal names', () => {
    assert.deepEqual(after('BUSY'), { done: false, atLeastMs: 7000 });
    assert.deepEqual(after('QUARANTINED'), { done: false, atLeastMs: 7000, keptOut: 'DevicePlugin/example.com/x' });
  });

  it('is not asked again at all when nobody can answer there any more', () => {
    assert.deepEqual(after('SOCKET_SWAPPED'), { done: true });
  });
});
