import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { checkNativeCalls } from '../../../src/cli/doctor/daemon.js';
import type { Scope } from '../../../src/cli/doctor/finding.js';
import { tempDir } from '../../support/temp-dir.js';

describe('doctor, about users', () => {
  it('says which of them the broker cannot tell apart in a user namespace', () => {
    const proc = tempDir();
    const scope = { proc, hasNativeCalls: true } as Scope;
    const found = (): string =>
      checkNativeCalls(scope).map(({ verdict, message }) => `${verdict}: ${message}`)[0] ?? '';
    assert.match(found(), /^ok: /);
    for (const folder of ['self', 'sys/kernel']) mkdirSync(path.join(proc, folder), { recursive: true });
    writeFileSync(path.join(proc, 'self/uid_map'), '0 100000 65536\n');
    writeFileSync(path.join(proc, 'sys/kernel/overflowuid'), '65534\n');
    assert.match(found(), /^warn: .*as uid 65534: .*refuses their plugins/);
  });
});
