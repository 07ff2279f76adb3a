import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { chooseVersion, compareVersions, parseVersion } from '../../../src/csi/version-rule.js';

describe('the version rule of CSI drivers', () => {
  const accepted: [offered: string[], chosen: string][] = [
    [['v1.0.0'], 'v1.0.0'],
    [['1.0.0'], '1.0.0'],
    [['0.2.0', 'v1.0.0'], 'v1.0.0'],
    [['0.2.0', 'v1.2.3'], 'v1.2.3'],
    [['v1.2.3', 'v0.3.0'], 'v1.2.3'],
    [['v1.2.3', 'v0.3.0', '2.0.1'], 'v1.2.3'],
    [['v1.2.3', '4.9.12', 'v0.3.0', '2.0.1'], 'v1.2.3'],
    [['v1.2.3', 'boo', 'v0.3.0', '2.0.1'], 'v1.2.3'],
    [['1.9', '1.10'], '1.10'],
    [[' 1.0.0-rc1+x'], ' 1.0.0-rc1+x'],
  ];
  for (const [offered, chosen] of accepted) {
    it(`takes ${JSON.stringify(chosen)} of ${JSON.stringify(offered)}`, () => {
      assert.equal(chooseVersion(offered), chosen);
    });
  }
  const refused = [
    ['0.3.0'],
    ['0.2.0'],
    ['0.2.0', 'v0.3.0'],
    ['4.9.12', '2.0.1'],
    [],
    ['var', 'boo', 'foo'],
    ['1'],
    ['01.0'],
  ];
  for (const offered of refused) {
    it(`takes none of ${JSON.stringify(offered)}`, () => {
      assert.equal(chooseVersion(offered), undefined);
    });
  }

  it('ignores trailing zeros and suffixes when it compares', () => {
    const parse = (text: string): readonly bigint[] => parseVersion(text) ?? assert.fail(text);
    assert.equal(compareVersions(parse('1.0'), parse('v1.0.0.0-beta')), 0);
    assert.equal(compareVersions(parse('1.0.1'), parse('1.0.0')), 1);
  });

  it('never chooses what was not offered, and answers any text quickly', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (offered) => {
        const chosen = chooseVersion(offered);
        assert.ok(chosen === undefined || offered.includes(chosen));
      }),
    );
    assert.equal(chooseVersion([`1.${'9'.repeat(1_000_000)}`, `1.${'9'.repeat(30)}`]), undefined);
  });
});
