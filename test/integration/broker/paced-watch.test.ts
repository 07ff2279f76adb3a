import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { eventBudget, PacedWatch } from '../../../src/platform/fs/paced-watch.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('the watch of one directory', () => {
  void it('that is too busy is let go for a moment, says so when it is watched again, and tells of files that come then', async () => {
    const [directory, clock] = [tempDir(), new FakeClock()];
    const names = new Set<string>();
    let [events, resumed] = [0, 0];
    const watch = new PacedWatch((work) => work(directory), {
      clock,
      budget: eventBudget(),
      changed: (name) => {
        events += 1;
        names.add(name);
      },
      resumed: () => (resumed += 1),
      failed: (failure) => assert.fail(failure),
    });
    const file = path.join(directory, 'busy');
    writeFileSync(file, '');
    await eventually('it is told', () => names.has('busy'));
    // Events of one kind and name in a row are one: these differ.
    const others = Array.from({ length: 1500 }, (_, at) => path.join(directory, String(at)));
    for (const other of others) writeFileSync(other, '');
    for (const other of others) chmodSync(other, 0o600);
    await eventually('it rests', () => clock.pending > 0);
    const taken = events;
    assert.ok(taken <= 2048, `${String(taken)} events were taken`);
    assert.equal(resumed, 0);

    await clock.advance(250);
    assert.equal(resumed, 1);
    writeFileSync(path.join(directory, 'late'), '');
    await eventually('a later file is told', () => names.has('late'));
    watch.close();
    watch.close();
  });
});
