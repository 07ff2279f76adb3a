import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { decodeCheckpoint } from '../../../src/checkpoint/decode.js';
import { emptyDocument } from '../../../src/checkpoint/document.js';
import { FORMAT } from '../../../src/checkpoint/format.js';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { seal } from '../../../src/checkpoint/envelope.js';
import { upgrade, UPGRADES, type UpgradeStep } from '../../../src/checkpoint/upgrades.js';

const members = new CheckpointCodec()
  .encode({ ...emptyDocument('b'), generation: 3 })
  .toString()
  .split('\n')
  .slice(1, -2)
  .map((line) => `${line}\n`)
  .join('');

describe('upgrades of the format', () => {
  it('has a step for every format before this one', () => {
    assert.deepEqual(
      [...UPGRADES.keys()],
      Array.from({ length: FORMAT - 1 }, (_, index) => index + 1),
    );
  });

  it('go one step at a time up to the wanted format', () => {
    const steps = new Map<number, UpgradeStep>([
      [1, (raw) => ({ ...raw, one: true })],
      [2, (raw) => ({ ...raw, two: raw['one'] })],
      [3, (raw) => ({ ...raw, three: true })],
    ]);
    assert.deepEqual(upgrade({ a: 1 }, 1, 3, steps), { a: 1, one: true, two: true });
    assert.deepEqual(upgrade({ a: 1 }, 3, 3, steps), { a: 1 });
  });

  it('end with nothing when a step is missing', () => {
    assert.equal(upgrade({}, 1, 3, new Map([[2, (raw) => raw]])), undefined);
  });

  it('are applied to a file of an older format when it is read', () => {
    const older = seal(1, [Buffer.from(members.replace('"generation":3', '"revision":3'))]);
    assert.equal(decodeCheckpoint(older).kind, 'damaged');
    const step: UpgradeStep = ({ revision, ...rest }) => ({ ...rest, generation: revision });
    const decoded = decodeCheckpoint(older, new Map([[1, step]]), 2);
    assert.ok(decoded.kind === 'document');
    assert.equal(decoded.document.generation, 3);
  });

  it('never touch a file of a newer format', () => {
    assert.deepEqual(decodeCheckpoint(seal(FORMAT + 1, [Buffer.from(members)])), { kind: 'newer', format: FORMAT + 1 });
  });

  it('call a file damaged when nothing leads from its format to this one', () => {
    assert.deepEqual(decodeCheckpoint(seal(1, [Buffer.from(members)]), new Map(), 2), {
      kind: 'damaged',
      problem: 'nothing upgrades its format 1',
    });
  });
});
