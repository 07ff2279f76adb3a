import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Child } from '../../support/child.js';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

/** Starts a command as npx does: under its name, with its environment, through a shell that waits for it. */
const AS_NPX = `
  process.title = 'npm exec plugin-broker';
  const env = { ...process.env, npm_lifecycle_event: 'npx' };
  const words = ['-c', '"$0" "$@"; exit $?', ...process.argv.slice(1)];
  const shell = require('node:child_process').spawn('sh', words, { env, stdio: 'inherit' });
  process.on('SIGTERM', () => { shell.kill(); process.exit(143); });
`;
const NPX = { command: process.execPath, args: ['-e', AS_NPX, process.execPath, distFile()], env: {} };

describe('npx that is killed', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`with ${signal}: the daemon and the simulated plugin that it started end, too`, async () => {
      const root = tempDir();
      const config = path.join(root, 'config.yaml');
      writeFileSync(config, 'http: { listen: off }\n');
      const daemon = new Child(NPX, ['serve', '--root', root, '--config', config]);
      await eventually('the daemon listens', () => existsSync(path.join(root, 'device-plugins', 'kubelet.sock')));
      const plugin = new Child(NPX, ['sim', 'device', '--root', root]);
      await eventually('it is in', () => plugin.lines.some((line) => line.includes('"event":"registered"')));
      for (const npx of [plugin, daemon]) {
        npx.signal(signal);
        // It ends for us when nobody holds its output any more: when the program has ended, too.
        await npx.end();
      }
      assert.match(plugin.story, /"event":"leaving"/);
      assert.match(daemon.story, /broker\.stopping/);
    });
  }
});
