import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { serveDevicePlugin } from '../../../src/device-plugin/serve-device-plugin.js';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('a device plugin of the library', () => {
  void it('goes on where its directory cannot be looked into for a moment', async () => {
    const directory = path.join(tempDir(), 'device-plugins');
    mkdirSync(directory);
    const devices = [{ id: 'a', health: 'Healthy' }] as const;
    const plugin = await serveDevicePlugin({ resource: 'vendor.example/gpu', directory, devices });
    // The watch tells of the first of these when all are done: its look ends in ELOOP then.
    renameSync(directory, `${directory}.away`);
    symlinkSync(directory, directory);
    await new Promise((resolve) => setTimeout(resolve, 300));
    unlinkSync(directory);
    mkdirSync(directory);
    await eventually('it serves in the new directory', () => plugin.socket !== '' && plugin.state === 'serving');
    await plugin.stop();
    assert.equal(plugin.state, 'stopped');
  });

  void it('is closed where its socket may not be removed', async (test) => {
    if (process.geteuid?.() !== 0) {
      test.skip('NOT TESTED: only root can become another user');
      return;
    }
    const directory = tempDir();
    const socket = path.join(directory, 'plugin.sock');
    const server = await PluginServer.listen(socket, () => undefined);
    chmodSync(directory, 0o711);
    process.seteuid?.(4001);
    try {
      await server.close();
    } finally {
      process.seteuid?.(0);
    }
    const refused = await new Promise((resolve) => connect(socket).once('error', resolve).once('connect', resolve));
    assert.equal((refused as NodeJS.ErrnoException | undefined)?.code, 'ECONNREFUSED');
  });
});
