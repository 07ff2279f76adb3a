import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusalSummary } from '../../../src/flood/refusal-summary.js';
import type { EventDraft } from '../../../src/model/event.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordedEvents, RecordedLog } from '../../support/recorders.js';

const refused = (plugin: string, message: string): EventDraft => ({
  type: 'refused',
  reason: 'FLOOD_REGISTER',
  plugin,
  socket: `/x/${message}.sock`,
  message,
});

describe('refusal summary', () => {
  it('tells the first in full and the others as one line with their number', async () => {
    const clock = new FakeClock();
    const told = new RecordedEvents();
    const sink = new RefusalSummary(clock).events(told);
    for (let call = 0; call <= 417; call += 1) sink.record(refused('DevicePlugin/a/b', `call ${call}`));
    assert.deepEqual(told.messages('refused'), ['call 0']);
    await clock.advance(10_000);
    assert.deepEqual(told.messages('refused'), ['call 0', '417 more in 10 s, the last: call 417']);
    assert.equal(told.all[1]?.socket, '/x/call 417.sock');
  });

  it('tells a flood that goes on less and less often', async () => {
    const clock = new FakeClock();
    const told = new RecordedEvents();
    const sink = new RefusalSummary(clock).events(told);
    for (let second = 0; second < 3_600; second += 1) {
      sink.record(refused('DevicePlugin/a/b', 'again'));
      await clock.advance(1_000);
    }
    const messages = told.messages('refused');
    assert.ok(messages.length < 20, `${messages.length} lines in an hour`);
    assert.match(messages.at(-1) ?? '', /^300 more in 300 s/);
  });

  it('tells one in full again once a window passed without', async () => {
    const clock = new FakeClock();
    const told = new RecordedEvents();
    const sink = new RefusalSummary(clock).events(told);
    sink.record(refused('DevicePlugin/a/b', 'one'));
    await clock.advance(10_000);
    sink.record(refused('DevicePlugin/a/b', 'two'));
    assert.deepEqual(told.messages('refused'), ['one', 'two']);
  });

  it('counts plugins apart, and lets events pass that are rare by themselves', () => {
    const told = new RecordedEvents();
    const sink = new RefusalSummary(new FakeClock()).events(told);
    sink.record(refused('DevicePlugin/a/b', 'one'));
    sink.record(refused('DevicePlugin/a/c', 'two'));
    for (let time = 0; time < 3; time += 1)
      sink.record({ type: 'state', plugin: 'DevicePlugin/a/b', message: 'ready' });
    assert.equal(told.all.length, 5);
  });

  it('summarises warnings, and leaves the other levels alone', async () => {
    const clock = new FakeClock();
    const kept = new RecordedLog();
    const log = new RefusalSummary(clock).log(kept);
    for (let time = 0; time < 3; time += 1) {
      log.warn('registration.refused', `no ${time}`, { code: 'NAME_INVALID', plugin: 'DevicePlugin/x' });
      log.error('x', 'error');
      log.info('x', 'info');
      log.debug('x', 'debug');
    }
    await clock.advance(10_000);
    const warned = kept.lines.filter((line) => line.level === 'warn').map((line) => line.message);
    assert.deepEqual(warned, ['no 0', '2 more in 10 s, the last: no 2']);
    assert.equal(kept.lines.length, 9 + 2);
  });

  it('stays bounded under 10,000 names, and loses none of the counts', async () => {
    const clock = new FakeClock();
    const told = new RecordedEvents();
    const summary = new RefusalSummary(clock);
    const sink = summary.events(told);
    for (let name = 0; name < 10_000; name += 1) sink.record(refused(`DevicePlugin/a/${name}`, `name ${name}`));
    assert.ok(summary.size <= 513 && clock.pending <= 513);
    const inFull = told.all.length;
    await clock.advance(10_000);
    const [summed] = told.messages('refused').slice(inFull);
    assert.equal(inFull + Number(summed?.split(' ')[0]), 10_000);
    await clock.advance(20_000);
    assert.equal(summary.size, 0);
    assert.equal(clock.pending, 0);
  });

  it('tells what it has counted when it is closed, and leaves no timer', () => {
    const clock = new FakeClock();
    const told = new RecordedEvents();
    const summary = new RefusalSummary(clock);
    const sink = summary.events(told);
    sink.record(refused('DevicePlugin/a/b', 'one'));
    sink.record(refused('DevicePlugin/a/b', 'two'));
    summary.close();
    assert.deepEqual(told.messages('refused'), ['one', '1 more in 10 s, the last: two']);
    assert.equal(clock.pending, 0);
  });
});
