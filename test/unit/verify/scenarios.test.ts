import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { VERDICT_CODES } from '../../../src/verify/verdict.js';
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
          'allocate',
          'prestart',
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

describe('docs/verify-mending.md', () => {
  const text = readFileSync(path.join(import.meta.dirname, '../../../../docs/verify-mending.md'), 'utf8');
  for (const { name, mend } of SCENARIOS) {
    it(`says how a plugin that fails ${name} is mended, in the words of the program`, () => {
      const section = text.split(`\n## ${name}\n`)[1]?.split('\n## ')[0] ?? '';
      assert.ok(section.includes(mend.how));
      assert.ok(section.includes(`\`\`\`go\n${mend.go}\n\`\`\``));
      assert.ok(section.includes(`\`\`\`python\n${mend.python}\n\`\`\``));
    });
  }
});

describe('docs/verify.md', () => {
  const text = readFileSync(path.join(import.meta.dirname, '../../../../docs/verify.md'), 'utf8');
  const cells = (row: string): string => row.replaceAll(/\s*\|\s*/g, '|');
  const rows = text.split('\n').map(cells);

  it('says of each scenario what it does and when it passes, in the words of the program', () => {
    for (const { name, does, passesWhen } of SCENARIOS)
      assert.ok(rows.includes(`|\`${name}\`|${does}|${passesWhen}|`), name);
  });

  it('lists every code of a verdict with its meaning', () => {
    for (const [code, meaning] of Object.entries(VERDICT_CODES)) {
      assert.ok(
        rows.some((row) => row.startsWith(`|\`${code}\`|`) && row.endsWith(`|${meaning}|`)),
        code,
      );
    }
  });
});
