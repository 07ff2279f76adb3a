import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { OWN_FLAGS, REGISTRAR_FLAGS } from '../../../src/registrar/options.js';
import { buildRoot, distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { startCommand, type Running } from '../../support/program.js';
import { callRegistrar, DRIVER, Rig } from './rig.js';

describe('the page about the registrar', () => {
  const page = readFileSync(path.join(buildRoot(), 'docs', 'registrar.md'), 'utf8');
  const named = new Set([...page.matchAll(/--([a-z][-a-z_]*)/g)].map(([, name]) => name));

  it('names no flag that the program does not have, and every one that is ours', () => {
    const known = new Set(REGISTRAR_FLAGS.map(({ name }) => name));
    for (const name of named) assert.ok(name === 'help' || known.has(name ?? ''), name);
    for (const { name } of OWN_FLAGS) assert.ok(named.has(name), name);
  });
});

describe('the registrar as a process', () => {
  let rig: Rig;

  beforeEach(async () => {
    rig = new Rig();
    await rig.driver();
  });
  afterEach(() => rig.close());

  const start = (...args: string[]): Running =>
    startCommand(process.execPath, [distFile('csi-node-driver-registrar.cjs'), ...args]);

  async function ready(): Promise<Running> {
    const running = start(...rig.flags);
    await eventually('it is registered', () => running.stderr().includes('Registration socket is ready'));
    assert.equal((await callRegistrar(rig.socket, 'GetInfo')).name, DRIVER);
    return running;
  }

  const signals: [signal: NodeJS.Signals, code: number | null, isThere: boolean][] = [
    ['SIGTERM', 0, false],
    ['SIGINT', 130, false],
    ['SIGKILL', null, true],
  ];
  for (const [signal, code, isThere] of signals) {
    it(`ends on ${signal} with ${String(code)}, and its socket ${isThere ? 'stays' : 'goes'}`, async () => {
      const running = await ready();
      assert.equal(lstatSync(rig.socket).mode & 0o777, 0o700);
      running.child.kill(signal);
      assert.equal((await running.ended).code, code);
      assert.equal(existsSync(rig.socket), isThere);
    });
  }

  it('goes on when the directory of its socket is none for a while, and makes the socket again when that is wanted', async () => {
    const running = start(...rig.flags, '--recreate-socket');
    await eventually('it is registered', () => running.stderr().includes('Registration socket is ready'));
    rmSync(rig.registry, { recursive: true });
    writeFileSync(rig.registry, '');
    await eventually('it has looked', () => running.stderr().includes('cannot listen on'));
    rmSync(rig.registry);
    mkdirSync(rig.registry);
    await eventually('it is back', async () => (await callRegistrar(rig.socket, 'GetInfo')).name === DRIVER);
    running.child.kill('SIGTERM');
    assert.equal((await running.ended).code, 0);
  });

  it('ends with 1 when the kubelet refuses it, and its socket stays', async () => {
    const running = await ready();
    await callRegistrar(rig.socket, 'NotifyRegistrationStatus', { pluginRegistered: false, error: 'no' });
    assert.equal((await running.ended).code, 1);
    assert.equal(existsSync(rig.socket), true);
  });

  it('writes its version on standard output, and everything else on standard error', async () => {
    const version = await start('--version').ended;
    assert.match(version.stdout, /csi-node-driver-registrar\.cjs \d+\.\d+\.\d+\n$/);
    const usage = await start('--nope').ended;
    assert.deepEqual([usage.code, usage.stdout], [2, '']);
  });

  it('serves as an exec probe under its own name', async () => {
    const probe = start('--kubelet-registration-path=/x/csi.sock', '--mode=kubelet-registration-probe');
    assert.equal((await probe.ended).code, 0);
  });
});
