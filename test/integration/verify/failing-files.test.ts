import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Changes } from '../../../src/verify/changes.js';
import { PluginProcess } from '../../../src/verify/plugin-process.js';
import { RunRecord } from '../../../src/verify/report/run-record.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('verify', () => {
  void it('goes on where its record does not fit on the disk, and says so', () => {
    const record = new RunRecord('/dev/full');
    record.write({ kind: 'note', s: 'reboot', t: 1, who: 'verify', what: 'did something' });
    assert.equal(record.lines().length, 1);
    assert.match(record.problem ?? '', /^the record \/dev\/full is not complete: ENOSPC/);
  });

  void it('says of a plugin that made its own file a link to itself that it cannot be started again', async () => {
    const file = path.join(tempDir(), 'plugin');
    writeFileSync(file, '#!/bin/sh\nrm "$0" && ln -s "$0" "$0"\n');
    chmodSync(file, 0o755);
    const changes = new Changes(new AbortController().signal);
    const plugin = new PluginProcess({
      command: { file, args: [] },
      env: process.env,
      mark: `${file}#0`,
      changes,
      note: () => undefined,
      span: () => undefined,
      wrote: () => undefined,
    });
    plugin.start();
    const problem = await changes.until(() => plugin.problem, 20_000);
    assert.match(problem ?? '', /^the command cannot be started: .*ELOOP/);
    await plugin.stop();
  });
});
