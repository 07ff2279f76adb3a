import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadGeneration } from '../../../src/config/load-config.js';
import { compileGlob } from '../../../src/platform/config/globs.js';
import { formWith, somewhere } from '../../support/config.js';

const AS_SENT = '/var/b/device-plugins/x.sock';
const REAL = '/mnt/disk/b/device-plugins/x.sock';

describe('a rule for a socket whose directory a link leads to', () => {
  /** Which of the two paths a pattern matches, and what it says of another directory. */
  async function matched(pattern: string): Promise<readonly boolean[]> {
    const around = { ...somewhere, realDirectory: (one: string) => one.replace('/var/b/', '/mnt/disk/b/') };
    const form = formWith({ shippedRules: 'off', rules: [{ match: { socket: pattern }, uids: [5] }] });
    const source = {
      name: 'x',
      file: 'x',
      looks: () => '',
      read: () => Promise.resolve({ form, locate: () => undefined }),
    };
    const { policy } = await loadGeneration(source, '/var/b', around, compileGlob);
    const isMatched = (socket: string) => policy.policyFor('DevicePlugin', 'a.b/x', socket).uids !== undefined;
    return [AS_SENT, REAL, '/var/b/device-plugins/y.sock', '/mnt/other/x.sock'].map(isMatched);
  }

  for (const [pattern, expected] of [
    [AS_SENT, [true, true, false, false]],
    [REAL, [true, true, false, false]],
    ['x.sock', [true, true, false, true]],
    ['**/device-plugins/x.sock', [true, true, false, false]],
    [`!${AS_SENT}`, [false, false, true, true]],
  ] as const) {
    it(`holds by either name of it: ${pattern}`, async () => {
      assert.deepEqual(await matched(pattern), expected);
    });
  }
});
