import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordLine, type RecordLine } from '../../../src/verify/record.js';
import { RunLine, type RunFacts } from '../../../src/verify/run-line.js';

const RUN: RunFacts = { tool: '0', at: '', command: ['./plugin'], profile: 'broker', label: 'v1' };
const note = (what: string): RecordLine => ({ kind: 'note', s: 'reboot', t: 1, who: 'verify', what });

function begun(): { run: RunLine; lines: RecordLine[] } {
  const lines: RecordLine[] = [];
  return { run: new RunLine(RUN, (line) => void lines.push(line)), lines };
}

describe('the line of a run', () => {
  it('names what the plugin registers and at which door, before all other lines', () => {
    const { run, lines } = begun();
    run.take(note('first'));
    assert.deepEqual(lines, []);
    run.begin([
      { name: 'b.example/x', door: 'register' },
      { name: 'a.example/x', door: 'register' },
    ]);
    run.take(note('second'));
    run.begin([]);
    assert.deepEqual(lines, [
      { kind: 'run', v: 1, ...RUN, resources: ['a.example/x', 'b.example/x'], door: 'register' },
      note('first'),
      note('second'),
    ]);
    for (const line of lines) assert.deepEqual(recordLine.parse(line), line);
  });

  it('names no door of a plugin that never came up', () => {
    const { run, lines } = begun();
    run.begin([]);
    assert.deepEqual(lines, [{ kind: 'run', v: 1, ...RUN, resources: [] }]);
    assert.deepEqual(recordLine.parse(lines[0]), lines[0]);
  });
});
