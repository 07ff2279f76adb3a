// `frozen` of a plugin that runs already: nothing is said that was not measured.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { start } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';
import { VerifyRun } from '../support/verifying.js';

const CASES = [
  {
    what: 'that is ready when it is stopped, and is not when it goes on',
    options: [],
    code: 0,
    says: /^passed +frozen +\S+ s {2}found after \S+ s, served again (?!0 ms)\S+ m?s after SIGCONT$/m,
  },
  {
    what: 'whose devices come and go: it is stopped only while they are there',
    options: ['--devices', '1', '--flap', '5s'],
    code: 0,
    says: /^passed +frozen +\S+ s {2}found after \S+ s, served again (?!0 ms)\S+ m?s after SIGCONT$/m,
  },
  {
    what: 'that is never quiet, which is its verdict',
    options: ['--devices', '1', '--flap', '1s'],
    code: 1,
    says: /^failed +frozen +\S+ s {2}\S+ had no healthy device for a while, again and again for 20 s/m,
  },
];

void describe('frozen --attach judges a plugin', { concurrency: 3 }, () => {
  for (const { what, options, code, says } of CASES) {
    void it(what, async () => {
      const root = tempDir();
      const run = new VerifyRun(['--attach', '--root', root, '--scenario', 'frozen'], []);
      await eventually('its registry is there', () => existsSync(path.join(root, 'device-plugins', 'kubelet.sock')));
      const plugin = start(['sim', 'device', '--root', root, ...options]);
      try {
        const ended = await run.running.ended;
        assert.match(ended.stdout, says);
        assert.deepEqual([ended.code, plugin.child.exitCode, run.files], [code, null, []]);
      } finally {
        plugin.child.kill('SIGKILL'); // also where it stands still
        await plugin.ended;
      }
    });
  }
});
