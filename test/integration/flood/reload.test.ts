import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FloodBed } from './flood-bed.js';

const limited = (interval: string, more: object = {}): object => ({
  flood: { register: { burst: 5, interval, onExceed: 'reject' }, penalty: { strikes: 1_000 }, ...more },
});

describe('a policy file that changes', async () => {
  const bed = await FloodBed.start(limited('600s'));
  const inForce = (what: string): Promise<unknown> =>
    eventually(`${what} is in force`, () => bed.logged('config.reloaded').some((line) => line.includes(what)));

  it('under load gives nobody a permit more, however often it is read', async () => {
    const plugin = await bed.plugin('loop');
    const callers = Array.from({ length: 20 }, () => bed.caller(plugin));
    const load = { accepted: 0, refused: 0, isOver: false };
    const loops = callers.map(async (caller) => {
      while (!load.isOver) load[(await caller.call()) === undefined ? 'accepted' : 'refused'] += 1;
      caller.close();
    });
    for (let round = 1; round <= 6; round += 1) {
      bed.configure(limited(`${600 + round}s`));
      await inForce(`${600 + round - 1}s → ${600 + round}s`);
    }
    load.isOver = true;
    await Promise.all(loops);
    assert.equal(load.accepted, 5, 'the burst, once');
    assert.ok(load.refused > 100, `${load.refused} calls were refused`);
    assert.equal((await bed.limit('register', 'example.com/loop'))?.intervalMs, 606_000);
  });

  it('that is broken changes nothing, and says so in log, status, metric and events', async () => {
    const before = await bed.limit('register', 'example.com/loop');
    bed.configure('flood:\n  register:\n    burst: many\n');
    const { policy, broker } = await eventually('it is refused', async () => {
      const status = await bed.broker.status();
      return status.policy.error === '' ? undefined : status;
    });
    assert.match(policy.error, /config\.yaml:3.*flood\.register\.burst/);
    assert.equal(broker.phase, 'degraded');
    assert.ok(
      broker.problems.some((problem) => problem.includes('flood.register.burst')),
      broker.problems.join(),
    );
    assert.ok(bed.logged('config.reload-refused').some((line) => line.includes('flood.register.burst')));
    await eventually(
      'the metric says so',
      async () => (await bed.metric('plugin_broker_degraded{what="policy"}')) === 1,
    );
    const after = await bed.limit('register', 'example.com/loop');
    assert.deepEqual([after?.burst, after?.intervalMs], [before?.burst, before?.intervalMs]);
    bed.configure(limited('607s'));
    await inForce('606s → 607s');
    assert.equal((await bed.broker.status()).broker.phase, 'ready');
    // Metrics are made at most once a second.
    await eventually(
      'the metric says so',
      async () => (await bed.metric('plugin_broker_degraded{what="policy"}')) === 0,
    );
  });

  it('whose rules contain themselves changes nothing either, and the broker lives on', async () => {
    const { pid } = bed.broker;
    bed.configure('rules: &r [*r]\n');
    await eventually('it is refused', async () => /contains itself/.test((await bed.broker.status()).policy.error));
    bed.configure(limited('607s'));
    await eventually('the good one is read', async () => (await bed.broker.status()).policy.error === '');
    assert.equal((await bed.broker.status()).broker.pid, pid);
  });

  it('counts for present plugins: connections held, pace of lists, grace, caps', async () => {
    const plugin = await bed.plugin('living');
    await plugin.register(bed.broker.kubeletSocket);
    await eventually('it serves', async () => (await bed.broker.allocatable('example.com/living')) === 2);
    const sockets = await Promise.all([1, 2, 3].map(() => open(bed.broker.kubeletSocket)));
    const changed = {
      connections: { perProcess: 3 },
      updates: { burst: 3, interval: '7s' },
      maxBuckets: 100,
    };
    bed.configure({ ...limited('608s', changed), grace: { device: '100ms' }, admission: { maxPlugins: 1 } });
    await inForce('607s → 608s');

    const further = await open(bed.broker.kubeletSocket);
    await once(further, 'close');
    assert.ok(sockets.every((socket) => !socket.closed));
    const rows = await bed.broker.admin.limits('');
    assert.ok(
      rows.some(({ slowing }) => /^disconnect: pid \d+ \(uid \d+\), 3 open$/.test(slowing)),
      JSON.stringify(rows),
    );
    for (const socket of sockets) socket.destroy();

    const pace = await bed.limit('updates', 'example.com/living');
    assert.deepEqual([pace?.burst, pace?.intervalMs], [3, 7_000]);
    await eventually(
      'connections are let go',
      async () => (await bed.metric('plugin_broker_connections{state="open"}')) === 0,
    );
    const newcomer = await bed.plugin('newcomer');
    await assert.rejects(newcomer.register(bed.broker.kubeletSocket), /CAP_PLUGINS/);
    await plugin.stop();
    await eventually('its grace is over', async () => (await bed.at(plugin.socket))?.reason === 'grace-over');
  });
});

async function open(path: string): Promise<Socket> {
  const socket = connect(path).on('error', () => undefined);
  await once(socket, 'connect');
  socket.resume();
  return socket;
}
