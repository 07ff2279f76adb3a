import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nearNames } from '../../../src/admin/near-names.js';

const known = ['example.com/gpu', 'example.com/fpga', 'vendor.io/nic', 'vendor.io/nic-vf', 'x', '__proto__'];

describe('nearNames', () => {
  const rows = [
    { given: 'example.com/gpa', then: ['example.com/gpu', 'example.com/fpga'] },
    { given: 'gpu', then: ['example.com/gpu'] },
    { given: 'VENDOR.IO/NIC', then: ['vendor.io/nic', 'vendor.io/nic-vf'] },
    { given: 'nic-vf', then: ['vendor.io/nic-vf'] },
    { given: 'constructor', then: [] },
    { given: 'nothing-like-it', then: [] },
    { given: 'y', then: ['x'] },
  ];
  for (const { given, then } of rows) {
    it(`finds ${then.length === 0 ? 'nothing' : then.join(' and ')} for ${given}`, () => {
      assert.deepEqual(nearNames(given, known), then);
    });
  }

  it('names at most three', () => {
    assert.equal(nearNames('gpu', ['gpu0', 'gpu1', 'gpu2', 'gpu3']).length, 3);
  });

  it('finds a long name in which a few characters are mistyped, and none in which more are', () => {
    const name = `example.com/${'abcdefgh'.repeat(20)}`;
    const mistyped = name.replace('abc', 'bac').replace('h', '').replaceAll('.', '-');
    assert.deepEqual(nearNames(mistyped, [name]), [name]);
    assert.deepEqual(nearNames(name.replaceAll('d', 'x'), [name]), []);
  });

  it('takes a moment, however many names there are and however alike', () => {
    const begin = 'ab'.repeat(140);
    const names = Array.from({ length: 2300 }, (_, nth) => `${begin}${String(nth).padStart(20, '0')}`);
    const before = process.cpuUsage();
    nearNames(`${begin}yyyyyyyyyyyyyyyyyyyz`, names);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 500_000, `${String((user + system) / 1000)} ms`);
  });

  it('counts what it takes to begin with a name, also where that differs at once', () => {
    const wanted = 'y'.repeat(300);
    const others = Array.from({ length: 500 }, (_, nth) => `${'x'.repeat(297)}${String(nth).padStart(3, '0')}`);
    const near = `${'y'.repeat(299)}z`;
    assert.deepEqual(nearNames(wanted, [near, ...others]), [near]);
    assert.deepEqual(nearNames(wanted, [...others, near]), [], 'the time is spent by then');
  });

  it('names each name once, however many plugins have it', () => {
    assert.deepEqual(nearNames('gpu', ['gpu0', 'gpu0']), ['gpu0']);
  });
});
