import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { LeaseEntry } from '../../../src/checkpoint/document.js';
import { decodeLease, leaseText } from '../../../src/checkpoint/lease-entry.js';
import { Members } from '../../../src/checkpoint/members.js';
import { PlainLeases } from '../../../src/checkpoint/plain-lease.js';
import { arbitraryCheckpoint } from '../../support/arbitrary-checkpoint.js';
import { leaseRecord } from '../../support/lease-record.js';

const USUAL = leaseRecord('1', {
  key: 'train',
  owner: { bind: 'key', namespace: 'process', name: '7', part: '' },
  answer: { envs: new Map([['A', 'b']]), mounts: [], devices: [], annotations: new Map(), cdiDevices: [] },
});
const slowly = (text: string): LeaseEntry => decodeLease(new Members(JSON.parse(text)));
const plainly = (text: string): LeaseEntry | undefined => new PlainLeases().take(JSON.parse(text));

/** Every member of a parsed value, with all that stands within it, in turn in the place of something else. */
function* changedOnce(value: unknown): Generator {
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  for (const [name, inner] of Object.entries(value)) {
    const others = [null, 7, -1, 1.5, 'text', '', true, [], [7], ['text'], {}, { text: 'text' }, [{}], [null]];
    for (const other of [...others, ...changedOnce(inner)]) {
      yield isList ? value.with(Number(name), other) : { ...value, [name]: other };
    }
    if (!isList) yield Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
  }
  if (!isList) yield { ...value, further: 1 };
  if (!isList) yield JSON.parse(JSON.stringify({ ...value, proto: {} }).replace('"proto"', '"__proto__"'));
}

describe('a lease taken as it was parsed', () => {
  it('is what reading it member by member gives, or is left to that', () => {
    fc.assert(
      fc.property(arbitraryCheckpoint, ({ leases }) => {
        for (const text of leases.map(leaseText)) {
          const plain = plainly(text);
          if (plain !== undefined) assert.deepEqual(plain, slowly(text));
        }
      }),
      { numRuns: 50 },
    );
    for (const usual of [USUAL, leaseRecord('2')].map(leaseText)) assert.deepEqual(plainly(usual), slowly(usual));
  });

  it('is never taken where member by member it is refused, or says something else', () => {
    let refused = 0;
    for (const record of [USUAL, leaseRecord('2')]) {
      for (const changed of changedOnce(JSON.parse(leaseText(record)))) {
        const text = JSON.stringify(changed);
        const plain = plainly(text);
        if (plain === undefined) refused += 1;
        else assert.deepEqual(plain, slowly(text), text);
      }
    }
    assert.ok(refused > 100);
  });

  it('shares with others what they have in common', () => {
    const plain = new PlainLeases();
    const text = leaseText(USUAL);
    const [one, other] = [plain.take(JSON.parse(text)), plain.take(JSON.parse(text))];
    assert.ok(one !== undefined && other !== undefined);
    assert.equal(one.answer.annotations, other.answer.annotations);
  });
});
