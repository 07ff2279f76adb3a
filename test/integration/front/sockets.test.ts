import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { kubeletPaths, namesOf } from '../../../src/platform/kubelet/front-paths.js';
import { eventually } from '../../support/eventually.js';
import { kubeletSockets } from '../../support/kubelet-sockets.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the sockets before a kubelet', () => {
  it('keep no descriptor of a try that failed, and are made when nothing is in the way any more', async () => {
    const kubelet = tempDir();
    const paths = kubeletPaths(kubelet);
    const resource = 'example.com/gpu';
    const place = kubeletSockets(resource, kubelet);
    await place.ensure();
    place.close();
    const folder = path.join(paths.devicePlugins, 'plugin-broker');
    const file = path.join(folder, namesOf(resource).socket);
    const other = kubeletSockets('example.com/other', kubelet);
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
