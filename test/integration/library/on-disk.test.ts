import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { checkpointOf } from '../../../src/library/broker-root.js';
import { whenOnDisk } from '../../../src/library/on-disk.js';
import type { ResourceView } from '../../../src/model/views.js';
import { tempDir } from '../../support/temp-dir.js';

const WITH_LIST = JSON.stringify({ plugins: [{ type: 'DevicePlugin', name: 'v.example/gpu', list: {} }] });

void describe('the checkpoint of a broker of the library', () => {
  void it('is waited for where the keys of its config say, not where a root has it by default', async () => {
    const root = tempDir();
    const file = checkpointOf(root, { paths: { state: 'elsewhere' } });
    assert.equal(file, path.join(root, 'elsewhere', 'checkpoint.json'));
    assert.equal(checkpointOf(root, '/etc/config.yaml'), path.join(root, 'state', 'checkpoint.json'));
    for (const folder of ['state', 'elsewhere']) mkdirSync(path.join(root, folder));
    writeFileSync(checkpointOf(root, {}), WITH_LIST);
    const served = { state: 'ready', capacity: 2, plugin: 'DevicePlugin/v.example/gpu' } as ResourceView;
    let isWritten = false;
    const waited = whenOnDisk({ resources: () => Promise.resolve([served]) }, file).then(() => isWritten);
    setTimeout(() => {
      isWritten = true;
      writeFileSync(file, WITH_LIST);
    }, 50);
    assert.equal(await waited, true);
  });
});
