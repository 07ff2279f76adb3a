import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCENARIOS } from '../../../src/verify/scenarios.js';

describe('the table of scenarios', () => {
  it('has those of the contract, in its order', () => {
    assert.deepEqual(
      SCENARIOS.map(({ name }) => name),
      [
        ...[
          'first-list',
          'restart-clean',
          'restart-nowipe',
          'restart-kill',
          'sock-only',
          'late-socket',
          'dir-recreate',
        ],
        ...['unlink-only', 'stream-break', 'refuse', 'notify-false', 'hang', 'overlap', 'frozen', 'reboot'],
      ],
    );
  });

  it('says of each what it does and when it passes, in words that fit one line', () => {
    for (const { name, does, passesWhen } of SCENARIOS) {
      for (const words of [does, passesWhen]) {
        assert.ok(words.length > 10 && words.length <= 100, `${name}: ${words}`);
        assert.doesNotMatch(words, /[.\n]$/);
      }
    }
  });
});
