import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { ALLOCATION_REFUSALS, LEASE_REASONS } from '../../../src/model/allocation-reasons.js';
import { CONNECTION_ENDS } from '../../../src/model/connection-ends.js';
import { GRPC_STATUS, REFUSALS, type ReasonSpec } from '../../../src/model/reasons.js';
import { STATE_REASONS } from '../../../src/model/state-reasons.js';
import { buildRoot } from '../../support/dist.js';

const page = readFileSync(path.join(buildRoot(), 'docs', 'reasons.md'), 'utf8');

/** The cells of the tables of the page, by their code. */
const rows = new Map(
  page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map((cells): [string, string[]] => [(cells[1] ?? '').replaceAll('`', ''), cells.slice(2, -1)]),
);
const statusName = new Map<number, string>(Object.entries(GRPC_STATUS).map(([name, number]) => [number, name]));

void describe('docs/reasons.md', () => {
  void it('says of each refusal what the table says', () => {
    for (const [code, spec] of Object.entries<ReasonSpec>(REFUSALS)) {
      const passing = spec.transient ? 'yes' : '';
      assert.deepEqual(rows.get(code), [spec.about, statusName.get(spec.grpc), passing, spec.remedy], code);
    }
  });
  void it('says of each state reason what the table says', () => {
    for (const [code, said] of Object.entries<readonly [string, string]>(STATE_REASONS)) {
      assert.deepEqual(rows.get(code), [...said], code);
    }
  });
  void it('says of each refused allocation and each reason of a lease what the table says', () => {
    for (const [code, { about, status, remedy }] of Object.entries(ALLOCATION_REFUSALS)) {
      assert.deepEqual(rows.get(code), [about, status, remedy], code);
    }
    for (const [code, said] of Object.entries<readonly [string, string]>(LEASE_REASONS)) {
      assert.deepEqual(rows.get(code), [...said], code);
    }
  });
  void it('names no code that does not exist', () => {
    const known = new Set(
      [REFUSALS, STATE_REASONS, CONNECTION_ENDS, ALLOCATION_REFUSALS, LEASE_REASONS].flatMap((table) =>
        Object.keys(table),
      ),
    );
    assert.deepEqual(
      [...rows.keys()].filter((code) => !known.has(code)),
      [],
    );
    for (const code of Object.keys(CONNECTION_ENDS)) assert.ok(rows.has(code), `${code} is missing`);
  });
});
