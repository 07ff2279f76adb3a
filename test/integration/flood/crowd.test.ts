import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FloodBed } from './flood-bed.js';

const CROWD = 100;

describe('a hundred honest plugins', () => {
  it('that register again in the same second after a restart are all in, none refused or slowed', async () => {
    const bed = await FloodBed.start();
    const { broker } = bed;
    const plugins = await Promise.all(Array.from({ length: CROWD }, (_, nth) => bed.plugin(`honest-${nth}`)));
    const registerAll = (): Promise<unknown> =>
      Promise.all(plugins.map((plugin) => plugin.register(broker.kubeletSocket)));
    const allIn = (): Promise<unknown> =>
      eventually('all of them serve', async () => {
        const usable = [...(await broker.counts()).values()].filter(({ allocatable }) => allocatable === 2);
        return usable.length === CROWD;
      });
    await registerAll();
    await allIn();
    for (const { resource } of plugins.slice(-3)) await broker.onDisk(resource);
    await broker.end('SIGKILL');
    await broker.start({ settled: false });
    await registerAll();
    await allIn();

    const text = await bed.metrics();
    assert.doesNotMatch(text, /^plugin_broker_registrations_total\{[^}]*result="refused"/m);
    assert.doesNotMatch(text, /^plugin_broker_flood_exceeded_total\{/m);
    assert.ok(
      (await bed.metric('plugin_broker_registrations_total{type="DevicePlugin",result="accepted",reason=""}')) >= CROWD,
    );
    const rows = await broker.admin.limits('');
    const touched = rows.filter(({ exceeded, strikes, slowing }) => exceeded > 0 || strikes > 0 || slowing !== '');
    assert.deepEqual(touched, []);
    assert.ok((await broker.plugins()).every(({ state }) => state === 'ready'));
  });
});

describe('processes that hold all connections and call nothing', () => {
  const holders: ChildProcess[] = [];
  after(() => {
    for (const holder of holders) holder.kill('SIGKILL');
  });

  it('keep no newcomer out; status says that all are open, and limits names the holders', async () => {
    const bed = await FloodBed.start({ flood: { connections: { total: 60, perProcess: 24 } } });
    const { broker } = bed;
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'idle-connections.js');
    for (const count of [24, 24, 12]) {
      const holder = spawn(process.execPath, [file, broker.kubeletSocket, String(count)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      holders.push(holder);
      await once(holder.stdout, 'data');
    }
    assert.equal((await broker.status()).broker.phase, 'ready');
    for (let nth = 0; nth < 5; nth += 1) {
      const plugin = await bed.plugin(`newcomer-${String(nth)}`);
      await plugin.register(broker.kubeletSocket);
    }
    const { phase, problems } = (await broker.status()).broker;
    assert.equal(phase, 'degraded');
    assert.match(problems.join(), /all 60 connections of flood\.connections\.total are open/);
    const rows = await broker.admin.limits('');
    const shown = rows.filter(({ limit }) => limit === 'connections').map(({ slowing }) => slowing);
    for (const holder of holders) assert.match(shown.join(), new RegExp(`pid ${String(holder.pid)} `));
    for (const holder of holders) holder.kill('SIGKILL');
    await eventually('there is room again', async () => (await broker.status()).broker.phase === 'ready');
  });
});

describe('processes of an ordinary user that connect and hang up without end', () => {
  const children: ChildProcess[] = [];
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can start a process as another user';

  it('keep nobody else out; status and limits name the user that is turned away', { skip }, async () => {
    const bed = await FloodBed.start({ flood: { connections: { burst: 1_000 } } });
    const { broker } = bed;
    chmodSync(broker.root, 0o755);
    chmodSync(broker.devicePlugins, 0o777);
    chmodSync(broker.kubeletSocket, 0o777);
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'hang-up.js');
    // Each stays below what one process may for longer than both below what one user may.
    for (let nth = 0; nth < 2; nth += 1) {
      children.push(
        spawn(process.execPath, [file, '54321', broker.kubeletSocket], { stdio: ['pipe', 'inherit', 'inherit'] }),
      );
    }
    const isTurnedAway = async (): Promise<boolean> => {
      const { problems } = (await broker.status()).broker;
      return /processes of uid 54321 connect so often/.test(problems.join());
    };
    // On a slow machine they connect little more often than one user may.
    await eventually('the user is turned away', isTurnedAway, { withinMs: 90_000 });
    const rows = (await broker.admin.limits('')).filter(({ limit, uid }) => limit === 'connections' && uid === 54321);
    assert.match(rows.map(({ slowing }) => slowing).join(), /processes of uid 54321/);
    const plugin = await bed.plugin('beside-it');
    await plugin.register(broker.kubeletSocket);
  });
});
