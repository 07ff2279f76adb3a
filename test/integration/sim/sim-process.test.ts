import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { DeviceSimOptions } from '../../../src/sim/device/options.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';
import type { SimLine } from '../../support/running-sim.js';
import { TestRegistry } from './test-registry.js';

const PROGRAM = fileURLToPath(new URL('../../support/sim-process.js', import.meta.url));

/** Ends everything that a test started, also where it failed. */
const ends: (() => unknown)[] = [];

async function registryIn(dir: string): Promise<TestRegistry> {
  const registry = await TestRegistry.start(dir);
  ends.push(() => registry.stop());
  return registry;
}

function start(dir: string, given: Partial<DeviceSimOptions>): { child: ChildProcess; lines: SimLine[] } {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ dir, ...given })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: SimLine[] = [];
  ends.push(() => child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as SimLine));
  return { child, lines };
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

describe('a simulated device plugin as a process', () => {
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  it('ends well on SIGTERM', async () => {
    const dir = tempDir();
    const registry = await registryIn(dir);
    const { child } = start(dir, {});
    await eventually('the registration', () => registry.requests.length === 1);
    child.kill('SIGTERM');
    assert.equal(await ended(child), 0);
    assert.equal(existsSync(path.join(dir, 'example.com_sim.sock')), false);
  });

  it('crashes at a second list stream when it cannot bear one, and leaves its socket', async () => {
    const dir = tempDir();
    const registry = await registryIn(dir);
    const { child } = start(dir, { secondWatch: 'crash' });
    await eventually('the registration', () => registry.requests.length === 1);
    const socket = path.join(dir, 'example.com_sim.sock');
    const first = registry.watch(socket);
    await eventually('the first list', () => first.lists.length === 1);
    registry.watch(socket);
    assert.equal(await ended(child), 2);
    assert.equal(existsSync(socket), true);
  });

  it('crashes again and again with a new pid and a new socket name each time', async () => {
    const dir = tempDir();
    const registry = await registryIn(dir);
    const { child, lines } = start(dir, { crashEvery: 500 });
    await eventually('three lives', () => registry.requests.length >= 3);
    child.kill('SIGTERM');
    await ended(child);
    assert.equal(new Set(registry.requests.map(({ endpoint }) => endpoint)).size, registry.requests.length);
    const deaths = lines.filter(({ event }) => event === 'life-ended');
    assert.equal(deaths[0]?.['code'], 137);
    assert.ok(new Set(deaths.map((line) => line['child'])).size >= 2);
  });

  it('loops over Register without a pause when it is told to', async () => {
    const dir = tempDir();
    const registry = await registryIn(dir);
    const { child, lines } = start(dir, { registerEvery: 0, registerCount: 200 });
    await eventually('all registrations', () => registry.requests.length === 200);
    await eventually('all lines', () => {
      const told = lines.filter(({ event }) => event === 'registered');
      return told.reduce((sum, { more }) => sum + Number(more ?? 1), 0) === 200;
    });
    child.kill('SIGTERM');
    await ended(child);
  });

  it('loops over connections and keeps them when it is told to', async () => {
    const dir = tempDir();
    const registry = await registryIn(dir);
    const { child, lines } = start(dir, { connectEvery: 0, connectHold: true });
    await eventually('many connections', () => registry.connections > 50);
    child.kill('SIGTERM');
    assert.equal(await ended(child), 0);
    assert.equal(
      lines.some(({ event }) => event === 'connected'),
      true,
    );
    assert.equal(registry.requests.length, 0);
  });
});
