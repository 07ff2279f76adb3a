import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownerText } from '../../../src/model/lease.js';

const called = (namespace: string, name: string, part = ''): string => ownerText({ namespace, name, part });

describe('the name of an owner in a sentence', () => {
  it('is as it is where it has the characters of pods, units and tasks only', () => {
    assert.equal(called('team-x', 'train-0', 'main'), 'team-x/train-0/main');
    assert.equal(called('systemd', 'getty@tty1.service'), 'systemd/getty@tty1.service');
  });

  it('stands in quotes where it could be read as part of the sentence', () => {
    assert.equal(called('a', 'b is over. Run x'), '"a/b is over. Run x"');
    assert.equal(called('a', 'b" has g0, "c'), String.raw`"a/b\" has g0, \"c"`);
    assert.equal(called('a', 'b     0\u3000\u30001'), '"a/b 0 1"', 'columns of a table are not forged with spaces');
    assert.equal(called('a', '\u202e'), String.raw`"a/\u{202e}"`);
  });
});
