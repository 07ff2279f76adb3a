// The flood gate on Bottleneck, in real time: calls that wait in each limit, and one that never waits. Run again by
// without-bottleneck.test.ts with a Bottleneck that never runs a job.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { FloodGate } from '../../../src/flood/flood-gate.js';
import type { FloodVerdict } from '../../../src/model/flood.js';
import type { FloodSettings } from '../../../src/model/settings.js';
import { bottleneckLimiters } from '../../../src/platform/limits/bottleneck-limiter.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { FLOOD, policySource, processOf, subjectOf } from '../../support/flood-world.js';
import { countedFloods, RecordedEvents, RecordedLog } from '../../support/recorders.js';

const never = new AbortController().signal;

async function within(flood: Partial<FloodSettings>, work: (gate: FloodGate) => Promise<void>): Promise<void> {
  const gate = new FloodGate(policySource(flood), {
    openLimiter: bottleneckLimiters(systemClock),
    clock: systemClock,
    events: new RecordedEvents(),
    metrics: countedFloods().metrics,
    log: new RecordedLog(),
    bootMs: () => systemClock.mono(),
    ownUid: 0,
    userOf: (uid) => uid,
    namesMove: () => false,
    processorShare: 1,
  });
  try {
    await work(gate);
  } finally {
    gate.close();
  }
}

/** The fates of some registrations, each after its wait. */
const ended = (verdicts: readonly FloodVerdict[]): Promise<string[]> =>
  Promise.all(
    verdicts.map(async (verdict) => (verdict.kind === 'delay' ? (await verdict.wait(never)).kind : verdict.kind)),
  );

describe('the flood policy on Bottleneck', () => {
  // Alarms of the daemon keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  after(() => clearInterval(alive));

  it('register: calls that are held have their turns', () =>
    // Longer than the first of these calls takes on a slow machine.
    within({ register: { ...FLOOD.register, burst: 1, intervalMs: 200 } }, async (gate) => {
      const verdicts = Array.from({ length: 5 }, () => gate.registration(subjectOf()));
      assert.deepEqual(
        verdicts.map(({ kind }) => kind),
        ['pass', 'delay', 'delay', 'delay', 'delay'],
      );
      assert.deepEqual(await ended(verdicts), ['pass', 'pass', 'pass', 'pass', 'pass']);
    }));

  it('global.register: turns go round between the processes', () =>
    within({ globalRegister: { ...FLOOD.globalRegister, burst: 1, intervalMs: 30 } }, async (gate) => {
      const order: string[] = [];
      const call = async (pid: number, name: string): Promise<void> => {
        const verdict = gate.registration(subjectOf({ name, caller: processOf(pid) }));
        const [kind] = await ended([verdict]);
        order.push(`${name} ${String(kind)}`);
      };
      await Promise.all([call(1, 'a/1'), call(1, 'a/2'), call(1, 'a/3'), call(1, 'a/4'), call(2, 'b/1')]);
      assert.deepEqual(order, ['a/1 pass', 'a/2 pass', 'b/1 pass', 'a/3 pass', 'a/4 pass']);
    }));

  it('updates: a session that floods is read again on its turn', () =>
    within({ updates: { ...FLOOD.updates, burst: 1, intervalMs: 30 } }, async (gate) => {
      const policy = policySource({ updates: { ...FLOOD.updates, burst: 1, intervalMs: 30 } }).policyFor('', '', '');
      const pacer = gate.openPacer({ ...subjectOf(), policy, caller: processOf(1), socket: { path: 'gpu.sock' } });
      while (pacer.tryTake());
      for (let turn = 0; turn < 3; turn += 1) assert.equal(await pacer.nextTurn(AbortSignal.timeout(3_000)), true);
    }));

  it('connections: the budget is decided at once', () =>
    within({ connections: { ...FLOOD.connections, burst: 2, intervalMs: 60_000 } }, (gate) => {
      const opened = Array.from({ length: 4 }, () => gate.connections.admit(processOf(1)).ok);
      assert.deepEqual(opened, [true, true, false, false]);
      return Promise.resolve();
    }));
});
