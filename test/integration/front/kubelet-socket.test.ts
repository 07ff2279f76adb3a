import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { KubeletSocket } from '../../../src/platform/kubelet/kubelet-socket.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { guarding } from '../../support/guarding.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the socket of a kubelet', { timeout: 30_000 }, () => {
  const closing: (() => void)[] = [];
  after(() => {
    for (const close of closing) close();
  });

  const listening = async (file: string): Promise<string> => {
    const server = createServer();
    server.listen(file);
    await once(server, 'listening');
    closing.push(() => server.close());
    return file;
  };

  it('that is another one in the turn in which it was looked at is told, beside files that change all the time', async () => {
    const dir = path.join(tempDir(), 'device-plugins');
    mkdirSync(dir);
    const file = await listening(path.join(dir, 'kubelet.sock'));
    const next = await listening(path.join(dir, 'next.sock'));
    const kubelet = new KubeletSocket(file, { clock: systemClock, guarding, unwatched: () => undefined });
    closing.push(() => kubelet.close());
    const told: (string | undefined)[] = [];
    kubelet.listeners.follow({ kubeletChanged: () => told.push(kubelet.incarnation()) });
    kubelet.open();

    const before = kubelet.incarnation();
    renameSync(next, file);
    assert.equal(kubelet.incarnation(), before, 'one look a turn');
    for (let nth = 0; nth < 100; nth += 1) writeFileSync(path.join(dir, 'kubelet_internal_checkpoint'), String(nth));
    await eventually('it is told', () => told.length > 0);
    assert.equal(told.length, 1);
    assert.notEqual(told[0], before);
    assert.notEqual(told[0], undefined);
  });
});
