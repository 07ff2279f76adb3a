import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { FrontedService } from '../../../src/front/ports.js';
import { kubeletPaths, namesOf } from '../../../src/platform/kubelet/front-paths.js';
import { KubeletSockets } from '../../../src/platform/kubelet/front-sockets.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the sockets before a kubelet', () => {
  it('keep no descriptor of a try that failed, and are made when nothing is in the way any more', async () => {
    const paths = kubeletPaths(tempDir());
    const resource = 'example.com/gpu';
    const service: FrontedService = {
      isOffered: false,
      options: () => ({ preStartRequired: false, preferredAllocationAvailable: false }),
      afterRegister: (go) => go(),
      watch: () => () => undefined,
      call: () => Promise.resolve({ status: 12, message: 'nothing is served' }),
    };
    const sockets = new KubeletSockets(resource, service, {
      paths,
      clock: systemClock,
      take: (socket) => socket.destroy(),
      maxEntries: () => 1,
    });
    await sockets.ensure();
    sockets.close();
    const folder = path.join(paths.devicePlugins, 'plugin-broker');
    const file = path.join(folder, namesOf(resource).socket);
    const other = new KubeletSockets('example.com/other', service, {
      paths,
      clock: systemClock,
      take: (socket) => socket.destroy(),
      maxEntries: () => 1,
    });
    const inTheWay = path.join(folder, namesOf('example.com/other').socket);
    mkdirSync(inTheWay);
    chmodSync(inTheWay, 0o700);
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    for (let nth = 0; nth < 20; nth += 1) await assert.rejects(other.ensure());
    await eventually('no descriptor more', () => descriptors() < before + 5);
    rmdirSync(inTheWay);
    await other.ensure();
    assert.deepEqual(
      readdirSync(folder)
        .filter((name) => name.endsWith('.sock'))
        .sort(),
      [path.basename(file), path.basename(inTheWay)].sort(),
    );
    other.close();
  });
});
