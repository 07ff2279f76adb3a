import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { healthy } from '../support/fake-plugin.js';
import { FloodBed } from '../integration/flood/flood-bed.js';

/**
 * The default policy for those who have less time: few permits, which do not come back while the test runs, because on a
 * busy machine a process takes seconds to start; and a short quarantine after few strikes.
 */
const FAST = {
  flood: {
    register: { burst: 2, interval: '5m', maxDelay: '1s' },
    penalty: { strikes: 3, window: '10m', quarantine: '6s' },
  },
};
const RESOURCE = 'example.com/gpu';

describe(
  'a plugin that crashes and registers again and again, with a new pid and socket each time',
  { concurrency: 2 },
  async () => {
    const bed = await FloodBed.start(FAST);

    it('is slowed, kept out, and called back when it is over, although it never calls again', async () => {
      const loop = bed.simulate('--resource', RESOURCE, '--crash-every', '1s');
      await bed.sees(RESOURCE, 'registered', /is ready/);
      await bed.sees(RESOURCE, 'quarantine', /is kept out for 6 s after 3 strikes within 600 s/);
      const limit = await bed.limit('register', RESOURCE);
      assert.equal(limit?.slowing, 'quarantined');
      assert.ok(limit.quarantinedUntil !== '' && limit.exceeded >= 4, JSON.stringify(limit));
      assert.ok((await bed.metric('plugin_broker_quarantined')) >= 1);
      const byRule = 'plugin_broker_flood_rule_plugins{rule="flood",mode="enforce",state="quarantined"}';
      assert.ok((await bed.metric(byRule)) >= 1);
      loop.child.kill('SIGTERM');
      await once(loop.child, 'exit');

      // Repaired, started again while it is kept out, refused once, and silent from then on.
      const repaired = await bed.plugin('gpu', { devices: healthy('a', 'b', 'c') });
      await assert.rejects(
        repaired.register(bed.broker.kubeletSocket),
        /QUARANTINED: .* is in quarantine after too many/,
      );
      const kept = await bed.broker.admin.explain(RESOURCE, '');
      assert.match(kept.why, /Registrations in its name are refused until \d{4}-.*Z \(quarantine\)/);
      assert.match(
        kept.remedy,
        /pulls the plugin by itself when the quarantine ends, or `plugin-broker pardon example\.com\/gpu`/,
      );
      await eventually('it is back', async () => (await bed.broker.allocatable(RESOURCE)) === 3);

      assert.equal(repaired.count('GetDevicePluginOptions'), 1, 'the broker came to it');
      const story = (await bed.events(RESOURCE)).map(({ type, reason }) => `${type} ${reason}`);
      const order = ['registered registered', 'FLOOD_REGISTER', 'quarantine QUARANTINED', 'refused QUARANTINED'];
      let at = 0;
      for (const step of [...order, 'quarantine ', 'registered registered']) {
        at = story.findIndex((one, index) => index >= at && one.endsWith(step)) + 1;
        assert.ok(at > 0, `${step} in ${story.join(', ')}`);
      }
      const { state, why, events } = await bed.broker.admin.explain(RESOURCE, '');
      assert.equal(state, 'ready', why);
      assert.ok(events.some(({ message }) => message.includes('is over; the broker calls it back')));
    });

    it('never takes the devices of the incumbent of its name away for good', async () => {
      const resource = 'example.com/nic';
      const incumbent = await bed.plugin('nic', { devices: healthy('a', 'b', 'c', 'd', 'e') });
      await incumbent.register(bed.broker.kubeletSocket);
      await eventually('it serves', async () => (await bed.broker.allocatable(resource)) === 5);
      // Each life is long enough for a list on a busy machine: only the first one has a permit.
      const loop = bed.simulate('--resource', resource, '--crash-every', '3s', '--devices', '2');
      await bed.sees(resource, 'devices', /^first list: 2 of 2 devices/);
      await eventually('it is taken back as fallback', async () => (await bed.at(incumbent.socket))?.state === 'ready');
      await bed.sees(resource, 'quarantine', /is kept out for 6 s/);
      await eventually('it serves on through the quarantine', async () => {
        const [plugin, limit] = [await bed.at(incumbent.socket), await bed.limit('register', resource)];
        assert.equal(limit?.slowing, 'quarantined', 'the quarantine ended before');
        return plugin?.state === 'ready' && plugin.primary && (await bed.broker.allocatable(resource)) === 5;
      });
      assert.equal(incumbent.count('GetDevicePluginOptions') > 1, true, 'it was asked again, it did not call');
      loop.child.kill('SIGTERM');
      await once(loop.child, 'exit');
      await eventually('it serves when all is over', async () => {
        const [plugin, limit] = [await bed.at(incumbent.socket), await bed.limit('register', resource)];
        return (
          limit?.slowing !== 'quarantined' &&
          plugin?.state === 'ready' &&
          (await bed.broker.allocatable(resource)) === 5
        );
      });
    });
  },
);

describe('a plugin that is refused two hundred times', () => {
  it('is one line of log in ten seconds for each reason', async () => {
    const bed = await FloodBed.start(FAST);
    const plugin = await bed.plugin('loud');
    await Promise.all(
      Array.from({ length: 200 }, () => bed.caller(plugin)).map(async (caller) => {
        await caller.call();
        caller.close();
      }),
    );
    const lines = bed.logged('registration.refused').filter((line) => line.includes('example.com/loud'));
    const codes = lines.map((line) => (JSON.parse(line) as { code: string }).code);
    assert.deepEqual([...codes].sort(), ['FLOOD_REGISTER', 'QUARANTINED']);
    await bed.broker.end('SIGTERM');
    assert.match(
      bed.broker.log,
      /"msg":"\d{2,3} more in 10 s, the last: DevicePlugin example\.com\/loud is in quarantine/,
    );
  });
});
