import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { buildRoot } from '../../support/dist.js';
import { STYLES } from '../../support/verify-styles.js';

const page = readFileSync(path.join(buildRoot(), 'docs', 'verify.md'), 'utf8');
/** The rows of the table of simulated plugins: options, and what is said to fail. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && /\| `--[a-z-]+ [a-z-]+`/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, , options, fails]) => ({ options: options?.replaceAll('`', ''), fails: fails ?? '' }));

void describe('docs/verify.md', () => {
  void it('says of each style of plugin which scenarios it fails, as the tests expect', () => {
    assert.deepEqual(
      rows.map(({ options, fails }) => `${options ?? ''}: ${fails.replace(/^nothing.*/, '').replaceAll('`', '')}`),
      STYLES.map(({ options, differs }) => {
        const failed = Object.keys(differs).filter((name) => differs[name]?.verdict === 'failed');
        return `${options.slice(-2).join(' ')}: ${failed.join(', ')}`;
      }),
    );
  });
});
