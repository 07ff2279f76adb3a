import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectionRun, RefusalRuns } from '../../../src/flood/refusal-runs.js';
import { FakeClock } from '../../support/fake-clock.js';
import { processOf } from '../../support/flood-world.js';

const world = (): {
  clock: FakeClock;
  runs: RefusalRuns;
  refuse: (pid: number, times: number) => void;
  cutOff: (pid: number, times: number) => void;
} => {
  const clock = new FakeClock();
  const runs = new RefusalRuns(() => clock.mono());
  const refuse = (pid: number, times: number): void => {
    for (let nth = 0; nth < times; nth++) runs.refused(processOf(pid));
  };
  const cutOff = (pid: number, times: number): void => {
    for (let nth = 0; nth < times; nth++) runs.cutOff(processOf(pid));
  };
  return { clock, runs, refuse, cutOff };
};

void describe('processes that are refused or cut off again and again', () => {
  void it('are known from the sixteenth refusal in a row', () => {
    const { runs, refuse } = world();
    refuse(1, 15);
    assert.equal(runs.isRefused(processOf(1)), false);
    refuse(1, 1);
    assert.equal(runs.isRefused(processOf(1)), true);
    assert.equal(runs.isRefused(processOf(2)), false);
    assert.equal(runs.firstReadInMs(processOf(1)), 0);
  });

  void it('are read in turns from the fourth cut-off in a row, one connection each tenth of a second', async () => {
    const { clock, runs, cutOff } = world();
    cutOff(1, 3);
    assert.equal(runs.firstReadInMs(processOf(1)), 0);
    cutOff(1, 1);
    const turns = (): (number | undefined)[] => Array.from({ length: 3 }, () => runs.firstReadInMs(processOf(1)));
    assert.deepEqual(turns(), [100, 200, 300]);
    await clock.advance(250);
    cutOff(1, 1);
    assert.deepEqual(turns(), [150, 250, 350], 'a further cut-off does not bring its turns forward');
    await clock.advance(1_000);
    assert.deepEqual(turns(), [100, 200, 300]);
    assert.equal(runs.firstReadInMs(processOf(2)), 0);
    assert.equal(runs.isRefused(processOf(1)), false);
  });

  void it('have only so many turns ahead: beyond them nobody waits, and nothing is put off by it', async () => {
    const { clock, runs, cutOff } = world();
    cutOff(1, 4);
    const asked = Array.from({ length: 100 }, () => runs.firstReadInMs(processOf(1)));
    assert.deepEqual(asked.slice(0, 11), [100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, undefined]);
    assert.deepEqual(new Set(asked.slice(10)), new Set([undefined]));
    await clock.advance(100);
    assert.equal(runs.firstReadInMs(processOf(1)), 1_000);
    assert.equal(runs.firstReadInMs(processOf(1)), undefined);
  });

  void it('are told apart from others once, when their run becomes long', () => {
    const { runs } = world();
    const told = Array.from({ length: 6 }, () => runs.cutOff(processOf(1)));
    assert.deepEqual(told, [false, false, false, true, false, false]);
    assert.equal(runs.cutOff(undefined), false);
  });

  void it('are forgotten once they do something right, or nothing for ten seconds', async () => {
    const { clock, runs, refuse, cutOff } = world();
    for (const pid of [1, 2]) {
      refuse(pid, 20);
      cutOff(pid, 20);
    }
    runs.accepted(processOf(1));
    assert.equal(runs.isRefused(processOf(1)), false);
    assert.equal(runs.firstReadInMs(processOf(1)), 0);
    await clock.advance(10_000);
    assert.equal(runs.isRefused(processOf(2)), true);
    assert.equal(runs.firstReadInMs(processOf(2)), 100);
    await clock.advance(1);
    assert.equal(runs.isRefused(processOf(2)), false);
    assert.equal(runs.firstReadInMs(processOf(2)), 0);
    refuse(2, 15);
    cutOff(2, 3);
    assert.equal(runs.isRefused(processOf(2)), false, 'it begins anew');
    assert.equal(runs.firstReadInMs(processOf(2)), 0, 'it begins anew');
  });

  void it('are other processes once the pid is used again, and nobody where it is unknown', () => {
    const { runs, refuse } = world();
    refuse(1, 20);
    assert.equal(runs.isRefused({ ...processOf(1), startTime: '7' }), false);
    const unknown = { ...processOf(1), pid: undefined };
    for (let nth = 0; nth < 20; nth++) {
      runs.refused(unknown);
      runs.cutOff(unknown);
      runs.cutOff(undefined);
    }
    assert.equal(runs.isRefused(unknown), false);
    assert.deepEqual([runs.firstReadInMs(unknown), runs.firstReadInMs(undefined)], [0, 0]);
  });

  void it('are remembered up to a bound: newcomers wait until one is forgotten', async () => {
    const { clock, runs, refuse } = world();
    for (let pid = 1; pid <= 1_024; pid++) refuse(pid, 16);
    refuse(5_000, 16);
    assert.equal(runs.isRefused(processOf(5_000)), false);
    assert.equal(runs.isRefused(processOf(1)), true);
    await clock.advance(10_001);
    refuse(5_000, 16);
    assert.equal(runs.isRefused(processOf(5_000)), true);
  });

  void it('are not kept out of memory by processes that did little', () => {
    const { runs, cutOff } = world();
    for (let pid = 1; pid <= 1_024; pid++) cutOff(pid, 1);
    cutOff(5_000, 4);
    assert.equal(runs.firstReadInMs(processOf(5_000)), 100);
  });
});

void describe('a connection', () => {
  void it('is slow from its sixteenth refusal in a row on', () => {
    const run = new ConnectionRun();
    for (let nth = 0; nth < 15; nth++) assert.equal(run.refused(), false);
    run.accepted();
    for (let nth = 0; nth < 15; nth++) assert.equal(run.refused(), false);
    assert.equal(run.refused(), true);
  });
});
