import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { BrokerProcess } from '../../support/broker-process.js';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { startCommand } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

/** The words of Node where it opens a debugger, and where its port is taken. */
const DEBUGGER = /debugger|inspector/i;
/** It is opened within a few milliseconds. */
const OPENED_MS = 500;

void describe('the debugger of Node.js, to which any user of the machine may connect', () => {
  void it('is not opened in the daemon by SIGUSR1', async () => {
    const broker = new BrokerProcess(tempDir());
    await broker.start();
    process.kill(broker.pid ?? 0, 'SIGUSR1');
    await pause(OPENED_MS);
    assert.equal((await broker.status()).broker.phase, 'ready');
    assert.equal(await broker.end('SIGTERM'), 0);
    assert.doesNotMatch(broker.log, DEBUGGER);
    await broker.close();
  });

  void it('is not opened in the registrar', async () => {
    const driver = path.join(tempDir(), 'no.sock');
    const flags = ['--csi-address', driver, '--kubelet-registration-path', driver, '--v', '1'];
    const registrar = startCommand(process.execPath, [distFile('csi-node-driver-registrar.cjs'), ...flags]);
    await eventually('it has started', () => registrar.stderr().includes('Connecting'));
    registrar.child.kill('SIGUSR1');
    await pause(OPENED_MS);
    registrar.child.kill('SIGTERM');
    assert.equal((await registrar.ended).code, 0);
    assert.doesNotMatch(registrar.stderr(), DEBUGGER);
  });
});
