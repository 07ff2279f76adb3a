import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { runHere } from '../../support/captured-terminal.js';
import { eventually } from '../../support/eventually.js';
import { start } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

describe('sim', () => {
  it('device lives in the directories of the root, and ends with 0 on SIGTERM', async () => {
    const root = tempDir();
    for (const name of ['device-plugins', 'plugins_registry']) mkdirSync(path.join(root, name));
    const sim = start(['sim', 'device', '--root', root, '--door', 'watcher', '--devices', '3', '--serve-delay', '0ms']);
    await eventually('it serves', () => sim.stdout().includes(path.join(root, 'plugins_registry')));
    sim.child.kill('SIGTERM');
    const { code, stdout, stderr } = await sim.ended;
    assert.deepEqual([code, stderr], [0, '']);
    for (const line of stdout.trimEnd().split('\n')) assert.equal(typeof JSON.parse(line), 'object');
  });

  for (const kind of ['csi', 'dra'])
    it(`${kind} lives in the directories of the root, and ends with 0 on SIGTERM`, async () => {
      const root = tempDir();
      for (const name of ['plugins', 'plugins_registry']) mkdirSync(path.join(root, name));
      const sim = start(['sim', kind, '--root', root]);
      await eventually('it serves', () => sim.stdout().includes(path.join(root, 'plugins')));
      sim.child.kill('SIGTERM');
      const { code, stderr } = await sim.ended;
      assert.deepEqual([code, stderr], [0, '']);
    });

  it('device ends with the code it was told', async () => {
    const root = tempDir();
    const sim = start(['sim', 'device', '--root', root, '--exit-after', '1ms', '--exit-code', '7']);
    assert.equal((await sim.ended).code, 7);
  });

  const rows = [
    { args: ['--fault', 'Dance=never'], says: /names none of the methods/ },
    { args: ['--retry', '5'], says: /5 is no duration/ },
    { args: ['--door', 'window'], says: /Allowed choices are register, watcher/ },
  ];
  for (const { args, says } of rows) {
    it(`device refuses ${args.join(' ')} as wrong usage`, async () => {
      const ended = await runHere(['sim', 'device', ...args]);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, says);
    });
  }
});

describe('registrar', () => {
  it('is the program of its own, with its own flags', async () => {
    const { code, stdout } = await start(['registrar', '-version']).ended;
    assert.equal(code, 0);
    assert.match(stdout, /^plugin-broker registrar \d/);
  });
});
