import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { driverNameProblem } from '../../../src/model/driver-name.js';

describe('a driver name', () => {
  for (const name of ['hostpath.csi.k8s.io', 'a', 'Upper.Example.com', 'x'.repeat(63), 'gpu.example.com', 'a-b.c9']) {
    it(`may be ${name}`, () => assert.equal(driverNameProblem(name), undefined));
  }
  for (const name of [
    '',
    'x'.repeat(64),
    '-a',
    'a-',
    'a..b',
    '.a',
    'a/b',
    '../a',
    'a_b',
    'ä',
    '\u212a.example.com',
    'a b',
    'a\0',
  ]) {
    it(`may not be ${JSON.stringify(name)}`, () => assert.equal(typeof driverNameProblem(name), 'string'));
  }
});
