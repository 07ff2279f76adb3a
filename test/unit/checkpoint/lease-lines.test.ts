import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { decodeCheckpoint } from '../../../src/checkpoint/decode.js';
import type { CheckpointDocument } from '../../../src/checkpoint/document.js';
import { seal } from '../../../src/checkpoint/envelope.js';
import { FORMAT } from '../../../src/checkpoint/format.js';
import { arbitraryCheckpoint } from '../../support/arbitrary-checkpoint.js';

/** The document as the encoder that writes next reads it, as in the daemon. */
function readBy(codec: CheckpointCodec, bytes: Buffer): CheckpointDocument {
  const decoded = codec.decode(bytes);
  assert.ok(decoded.kind === 'document', JSON.stringify(decoded));
  return decoded.document;
}

/** A checkpoint with leases that is sealed again after its text was changed. */
function changed(change: (text: string) => string): Buffer {
  const [document] = fc.sample(
    arbitraryCheckpoint.filter(({ leases }) => leases.length > 1),
    { numRuns: 1, seed: 1 },
  );
  assert.ok(document !== undefined);
  const text = new CheckpointCodec().encode(document).toString();
  const members = text.slice(text.indexOf('\n') + 1, text.lastIndexOf('"sha256":"'));
  return seal(FORMAT, [Buffer.from(change(members))]);
}

describe('the lines of leases in a checkpoint', () => {
  it('are written again as they were read, those that changed as they are', () => {
    fc.assert(
      fc.property(arbitraryCheckpoint, (document) => {
        const codec = new CheckpointCodec();
        const bytes = new CheckpointCodec().encode(document);
        const read = readBy(codec, bytes);
        assert.ok(codec.encode(read).equals(bytes));
        const [first, ...others] = read.leases;
        const leases = [...others, ...(first === undefined ? [] : [{ ...first, uid: first.uid + 1 }])];
        const next = { ...read, generation: 3, leases };
        assert.ok(codec.encode(next).equals(new CheckpointCodec().encode(next)));
      }),
      { numRuns: 50 },
    );
  });

  it('mean the same in any other layout', () => {
    const wanted = decodeCheckpoint(changed((text) => text));
    const layouts = {
      'in one line': (text: string) => text.replaceAll('\n', ''),
      'twice, of which the last counts': (text: string) =>
        text.replace('"leases":[\n', '"leases":[\n{}\n],\n"leases":[\n'),
    };
    for (const [layout, change] of Object.entries(layouts)) {
      assert.deepEqual(decodeCheckpoint(changed(change)), wanted, layout);
    }
  });

  it('are understood in parts of many lines as they are in one', () => {
    const [document] = fc.sample(
      arbitraryCheckpoint.filter(({ leases }) => leases.length > 0),
      { numRuns: 1, seed: 2 },
    );
    const [first] = document?.leases ?? [];
    assert.ok(document !== undefined && first !== undefined);
    const leases = Array.from({ length: 1000 }, (_, at) => ({ ...first, id: String(at).padStart(26, '0') }));
    const bytes = new CheckpointCodec().encode({ ...document, leases });
    const codec = new CheckpointCodec();
    const read = readBy(codec, bytes);
    assert.deepEqual(read.leases, leases);
    assert.ok(codec.encode(read).equals(bytes));
    const rest = { ...read, leases: read.leases.filter((_, at) => at % 7 !== 3) };
    assert.ok(codec.encode(rest).equals(new CheckpointCodec().encode(rest)));
  });

  it('are made again where two leases stand in one line', () => {
    const bytes = changed((text) => text.replace(/(\n"leases":\[\n[^\n]*,)\n/, '$1'));
    const codec = new CheckpointCodec();
    const read = readBy(codec, bytes);
    assert.ok(codec.encode(read).equals(new CheckpointCodec().encode(read)));
  });

  it('are named by their place where one is not what it must be', () => {
    const decoded = decodeCheckpoint(changed((text) => text.replace(/(\n"leases":\[\n[^\n]*\n\{"id":)"[^"]*"/, '$17')));
    assert.deepEqual(decoded, { kind: 'damaged', problem: 'leases[1].id must be text' });
  });
});
