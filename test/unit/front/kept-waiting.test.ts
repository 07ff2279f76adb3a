import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeviceMethod } from '../../../src/model/device-use.js';
import { callsOfOne } from '../../support/front-calls.js';
import { WIRE } from '../../support/front-ports.js';

void describe('an ordinary user whose plugins keep the kubelet, which admits pods one after the other', () => {
  const ADVISES = { options: { preStartRequired: false, preferredAllocationAvailable: true } };

  /** Calls of which each takes so long, one after the other, until one is not passed on. @returns how long they took in all */
  async function untilRefused(slowMs: number, method: DeviceMethod, user: number | undefined, most = 60) {
    const w = callsOfOne();
    Object.assign(w.facts, { user, more: ADVISES });
    w.facts.answer = () =>
      new Promise((resolve) => w.clock.alarm(slowMs, () => resolve(Buffer.from('late but whole'))));
    let answer = '';
    for (let made = 0; made < most; made += 1) {
      const [before, answered] = [w.facts.asked.length, w.call(method)];
      await w.settle();
      if (w.facts.asked.length === before) return { ...w, answer: await answered, made };
      await w.clock.advance(slowMs);
      answer = await answered;
    }
    return { ...w, answer, made: most };
  }

  it('has each of its Allocates passed on for some seconds in all, and for a tenth of the time', async () => {
    const { clock, facts, call, settle, answer, made } = await untilRefused(950, 'Allocate', 4001);
    assert.ok(made >= 15 && made <= 20, `${String(made)} of 950 ms were passed on`);
    assert.match(
      answer,
      /^14 example.com\/a: the plugins of its user have kept the pods .* asked again in [1-9] s; see/,
    );
    await clock.advance(10_000);
    const later = call('Allocate');
    await settle();
    await clock.advance(950);
    assert.equal(await later, 'late but whole');
    assert.deepEqual([facts.asked.length, clock.pending], [made + 1, 0]);
  });

  it('is not asked for advice then', async () => {
    const { answer, made } = await untilRefused(800, 'GetPreferredAllocation', 4001);
    assert.ok(made >= 15 && made <= 25, `${String(made)} of 800 ms were passed on`);
    assert.equal(answer, WIRE.noPreference.toString());
  });

  it('owes the time, too, in which its plugins are waited for in vain', async () => {
    const { clock, facts, allocate, settle } = callsOfOne();
    Object.assign(facts, { user: 4001, state: 'held' });
    let [waits, answer] = [0, ''];
    for (; waits < 20; waits += 1) {
      const answered = allocate();
      await settle();
      if (clock.pending === 0) {
        answer = await answered;
        break;
      }
      await clock.advance(2000);
      assert.match(await answered, /did not come back in time/);
    }
    assert.equal(waits, 9);
    assert.match(answer, /have kept the pods of this node waiting for too long/);
  });

  it('is not meant where the plugin is of root, nor where calls are as short as they are', async () => {
    assert.equal((await untilRefused(950, 'Allocate', undefined)).made, 60);
    assert.equal((await untilRefused(10, 'Allocate', 4001, 400)).made, 400);
    const { made } = await untilRefused(90, 'Allocate', 4001, 400);
    assert.ok(made > 150 && made < 250, `${String(made)} of 90 ms were passed on`);
  });

  it('is asked again soon where the broker was stopped under a call', async () => {
    const { clock, facts, allocate, settle } = callsOfOne();
    facts.user = 4001;
    let done = (): void => undefined;
    facts.answer = () => new Promise((resolve) => (done = () => resolve(Buffer.from('ok'))));
    const answered = allocate();
    await settle();
    clock.pass(86_400_000);
    done();
    assert.equal(await answered, 'ok');
    await clock.advance(100_000);
    const next = allocate();
    await settle();
    done();
    assert.equal(await next, 'ok');
  });

  it('gives way to the question which pods have which devices, where it could not be asked for long', async () => {
    const { clock, facts, call, allocate } = callsOfOne();
    Object.assign(facts, { user: 4001, needsQuiet: true, more: ADVISES });
    let allocating = 0;
    facts.answer = () => Promise.resolve(Buffer.from(String((allocating = facts.underWay))));
    assert.match(await allocate(), /^14 example.com\/a: the kubelet is to say first which pods have which devices/);
    assert.equal(await call('GetPreferredAllocation'), WIRE.noPreference.toString());
    assert.deepEqual([facts.asked, facts.given, allocating], [[], [], 0]);
    facts.user = undefined;
    assert.equal(await allocate(), '1');
    Object.assign(facts, { user: 4001, needsQuiet: false });
    assert.equal(await allocate(), '1');
    assert.equal(clock.pending, 0);
  });
});
