import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { seal, SEAL_BYTES, unseal } from '../../../src/checkpoint/envelope.js';

const sealed = seal(1, [Buffer.from('"generation":7,\n"bootId":"b",\n')]);

describe('the envelope of a checkpoint', () => {
  it('is one JSON object with format first and the checksum last', () => {
    const text = sealed.toString();
    assert.ok(text.startsWith('{"format":1,\n'));
    assert.deepEqual(Object.keys(JSON.parse(text) as object), ['format', 'generation', 'bootId', 'sha256']);
    assert.deepEqual(unseal(sealed), { kind: 'sealed', format: 1 });
  });

  it('notices every flipped bit at every position', () => {
    const bytes = Buffer.from(sealed);
    for (let at = 0; at < bytes.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
        assert.equal(unseal(bytes).kind, 'damaged', `bit ${String(bit)} of byte ${String(at)}`);
        bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
      }
    }
    assert.equal(unseal(bytes).kind, 'sealed');
  });

  it('notices a file that was cut off anywhere', () => {
    for (let length = 0; length < sealed.length; length += 1) {
      assert.equal(unseal(sealed.subarray(0, length)).kind, 'damaged', `${String(length)} bytes`);
    }
  });

  it('notices bytes that were added, and bytes that became NUL', () => {
    for (const tail of ['\n', ' ', '\0', '{}', sealed.toString()]) {
      assert.equal(unseal(Buffer.concat([sealed, Buffer.from(tail)])).kind, 'damaged', JSON.stringify(tail));
    }
    assert.equal(unseal(Buffer.alloc(sealed.length)).kind, 'damaged');
    const halfNul = Buffer.from(sealed);
    halfNul.fill(0, halfNul.length >> 1);
    assert.equal(unseal(halfNul).kind, 'damaged');
  });

  it('notices any change of some bytes', () => {
    const change = fc.record({ at: fc.nat(sealed.length - 1), bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const bytes = Buffer.from(sealed);
        for (const { at, bytes: put } of changes) bytes.set(put.subarray(0, bytes.length - at), at);
        assert.equal(unseal(bytes).kind === 'sealed', bytes.equals(sealed));
      }),
    );
  });

  it('tells a newer format from damage by a checksum that fits', () => {
    assert.deepEqual(unseal(seal(2, [Buffer.from('"generation":7,\n')])), { kind: 'sealed', format: 2 });
    const relabelled = Buffer.from(sealed.toString().replace('"format":1', '"format":2'));
    assert.equal(unseal(relabelled).kind, 'damaged');
  });

  it('says in words what is wrong', () => {
    const problems = [
      Buffer.alloc(0),
      Buffer.from('[1]\n'),
      sealed.subarray(0, 40),
      Buffer.from(sealed).fill('x', 20, 21),
    ];
    assert.deepEqual(
      problems.map((bytes) => unseal(bytes)),
      [
        { kind: 'damaged', problem: 'it is empty' },
        { kind: 'damaged', problem: 'it does not begin with the format number of a checkpoint' },
        { kind: 'damaged', problem: 'it does not end with a checksum: it was cut off or added to, 40 bytes are there' },
        { kind: 'damaged', problem: 'its checksum does not fit its bytes: something changed them' },
      ],
    );
  });

  it('can be checked with a shell: the checksum is over all bytes but the last ones', () => {
    assert.equal(sealed.subarray(sealed.length - SEAL_BYTES).toString().length, 67);
  });
});
