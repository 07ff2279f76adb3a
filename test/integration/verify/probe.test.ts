import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { sendUnaryData } from '@grpc/grpc-js';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import { registrationService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { Changes } from '../../../src/verify/changes.js';
import type { Directories } from '../../../src/verify/directories.js';
import { proveBroker } from '../../../src/verify/probe.js';
import type { Witness } from '../../../src/verify/witness.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the plugin that proves the broker', () => {
  it('is served beside files that users made under names of earlier ones', async () => {
    const devicePlugins = path.join(tempDir(), 'device-plugins');
    mkdirSync(devicePlugins);
    writeFileSync(path.join(devicePlugins, '.probe.sock'), '');
    const kubeletSocket = path.join(devicePlugins, 'kubelet.sock');
    const asked: { endpoint: string; files: readonly string[] }[] = [];
    const kubelet = await PluginServer.listen(kubeletSocket, (server) =>
      server.addService(registrationService, {
        Register: ({ request }: { request: { endpoint: string } }, done: sendUnaryData<object>) => {
          asked.push({ endpoint: request.endpoint, files: readdirSync(devicePlugins) });
          done(null, {});
        },
      }),
    );
    const changes = new Changes(new AbortController().signal);
    const witness = { own: { allocatable: 1 } } as unknown as Witness;
    await proveBroker({ devicePlugins, kubeletSocket } as Directories, witness, changes);
    changes.close();
    await kubelet.close();
    const [call] = asked;
    assert.match(call?.endpoint ?? '', /^\./);
    assert.equal(call?.files.includes(call.endpoint), true, 'its socket was there when it registered');
  });
});
