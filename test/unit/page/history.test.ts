import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capacityHistory, pluginHistory, SPAN_MS, startsOf } from '../../../src/page/history.js';
import { brokerEvent, pluginView, resourceView } from '../../support/fake-admin-port.js';

const NOW = Date.UTC(2030, 0, 1, 12);
const at = (agoMs: number): string => new Date(NOW - agoMs).toISOString();
const state = (agoMs: number, is: string, reason = 'registered') =>
  brokerEvent({ time: at(agoMs), type: is === 'ready' ? 'registered' : 'state', reason, facts: { state: is } });

void describe('the past of a plugin', () => {
  void it('is its states within the span, and ends with what it is now', () => {
    const events = [
      state(SPAN_MS + 60_000, 'connecting', 'registering'),
      state(SPAN_MS + 50_000, 'ready'),
      state(300_000, 'held', 'connection-lost'),
      state(290_000, 'ready', 'confirmed'),
    ];
    const now = pluginView({ state: 'quarantined', reason: 'quarantine', stateSince: at(1000) });
    assert.deepEqual(pluginHistory(events, now, NOW).spans, [
      [NOW - SPAN_MS, 'ready', 'registered'],
      [NOW - 300_000, 'held', 'connection-lost'],
      [NOW - 290_000, 'ready', 'confirmed'],
      [NOW - 1000, 'quarantined', 'quarantine'],
    ]);
  });

  void it('has a tick for each call, and the reason where it was refused', () => {
    const events = [
      state(20_000, 'ready'),
      brokerEvent({ time: at(10_000), type: 'refused', reason: 'FLOOD_REGISTER' }),
      brokerEvent({ time: at(SPAN_MS + 1), type: 'refused', reason: 'FLOOD_REGISTER' }),
    ];
    assert.deepEqual(pluginHistory(events, undefined, NOW).calls, [
      [NOW - 20_000, ''],
      [NOW - 10_000, 'FLOOD_REGISTER'],
    ]);
  });

  void it('believes what is over an event that was told late', () => {
    const late = state(100, 'held', 'connection-lost');
    const now = pluginView({ state: 'ready', stateSince: at(5000) });
    assert.deepEqual(pluginHistory([state(9000, 'held'), late], now, NOW).spans.at(-1), [
      NOW - 5000,
      'ready',
      'registered',
    ]);
  });
});

void describe('the past of a resource', () => {
  const devices = (agoMs: number, of: number, healthy: number) =>
    brokerEvent({ time: at(agoMs), type: 'devices', reason: '', facts: { devices: of, healthy } });

  void it('is a step for each change of its devices, of which none may be given out while its plugin is lost', () => {
    const events = [
      devices(60_000, 4, 4),
      state(50_000, 'held', 'connection-lost'),
      state(40_000, 'ready'),
      devices(30_000, 4, 3),
    ];
    assert.deepEqual(capacityHistory(events, resourceView({ capacity: 4, allocatable: 3 }), NOW), [
      [NOW - 60_000, 4, 4],
      [NOW - 50_000, 4, 0],
      [NOW - 40_000, 4, 4],
      [NOW - 30_000, 4, 3],
    ]);
  });

  void it('has at most 64 steps', () => {
    const events = Array.from({ length: 500 }, (_, nth) => devices(500 - nth, 4, nth % 5));
    assert.equal(capacityHistory(events, resourceView({ capacity: 4, allocatable: 4 }), NOW).length, 64);
  });
});

void describe('the starts', () => {
  void it('are the last ten, newest first, with what each came to', () => {
    const start = (nth: number) => brokerEvent({ type: 'broker', seq: nth, facts: { start: 'killed', restored: nth } });
    const settled = brokerEvent({ type: 'broker', facts: { settled: 64, confirmed: 11, settling: 0, total: 12 } });
    const starts = startsOf([...Array.from({ length: 12 }, (_, nth) => start(nth)), settled]);
    assert.equal(starts.length, 10);
    const time = '2030-01-01T00:00:00.000Z';
    assert.deepEqual(starts[0], {
      at: time,
      after: 'killed',
      restored: 11,
      confirmed: 11,
      settling: 0,
      total: 12,
      ms: 64,
    });
    assert.equal(starts[1]?.ms, -1);
  });
});
