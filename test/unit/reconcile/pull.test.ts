import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import type { Instance } from '../../../src/model/instance.js';
import type { RefusalCode } from '../../../src/model/reasons.js';
import {
  afterPull,
  afterRefusal,
  isAsked,
  withoutAsking,
  type PullFacts,
  type Pulled,
} from '../../../src/reconcile/pull.js';
import { knownInstance } from '../../support/known-instance.js';

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

describe('the outcome of a pull', () => {
  const facts: PullFacts = { isKnown: true, failures: 2, updateIntervalMs: 250, givenUp: 0 };
  const lost = knownInstance({ state: 'held', reason: 'stream-failed' });
  const refused = (instance: Instance, code: RefusalCode): Pulled =>
    afterPull(instance, { ok: false, refusal: { code, message: 'no' } }, facts);
  const did = ({ attempt, actions }: Pulled): string =>
    [
      attempt.done ? 'done' : 'again',
      ...actions.map((one) => ('report' in one ? `${one.do} ${one.report.state}` : one.do)),
    ].join(', ');

  it('that nobody is asked for is nothing, but for a quarantine that is over', () => {
    const kept = knownInstance({ state: 'quarantined', reason: 'quarantine', door: 'watcher' });
    const fallback = knownInstance({ state: 'held', reason: 'replaced' });
    const serving = knownInstance();
    assert.deepEqual([undefined, serving, kept, lost, fallback].map(isAsked), [false, false, false, true, true]);
    assert.equal(did(withoutAsking(undefined)), 'done');
    assert.equal(did(withoutAsking(serving)), 'done');
    assert.equal(did(withoutAsking(kept)), 'done, report held');
  });

  it('that is accepted is over, unless the plugin was lost again before it was on disk', () => {
    const accepted = (instance: Instance, isKnown = true): Pulled =>
      afterPull(instance, { ok: true, instanceId: instance.id, durable: true }, { ...facts, isKnown });
    assert.equal(did(accepted(knownInstance())), 'done');
    assert.deepEqual(accepted(lost).attempt, { done: false, atLeastMs: 1000 });
    assert.equal(did(accepted(lost, false)), 'done');
  });

  it('that is refused for now is another attempt and one more failure; a quarantine that is over ends in a grace', () => {
    const kept = knownInstance({ state: 'quarantined', reason: 'quarantine' });
    assert.deepEqual(refused(lost, 'BUSY').actions, [{ do: 'note-failed', failures: 3 }]);
    assert.equal(did(refused(kept, 'BUSY')), 'again, note-failed');
    assert.equal(did(refused(kept, 'OPTIONS_FAILED')), 'again, note-failed, report held');
  });

  it('of a record that was dropped meanwhile is not counted, because nobody would forget the count again', () => {
    const unknown = { ...facts, isKnown: false };
    const pulled = afterPull(lost, { ok: false, refusal: { code: 'BUSY', message: 'no' } }, unknown);
    assert.deepEqual(pulled.actions, []);
  });

  it('that is refused for good is a loss, which may be a restart only where the incarnation has gone', () => {
    const fallback = knownInstance({ state: 'held', reason: 'replaced' });
    assert.equal(did(refused(lost, 'NO_LISTENER')), 'done, report-loss held');
    assert.equal(did(refused(lost, 'NAME_DENIED')), 'done, report held');
    assert.equal(did(refused(fallback, 'NO_LISTENER')), 'done, close-replaced');
  });
});
