import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { AllocClient } from '../../support/alloc-client.js';
import { eventually } from '../../support/eventually.js';
import { healthy } from '../../support/fake-plugin.js';
import { RegisterCaller } from '../../support/register-caller.js';
import { FloodBed } from './flood-bed.js';

const NAMES = 8;
const POLICY = {
  cdi: { dir: 'off' },
  flood: { register: { burst: 1, interval: '60s', onExceed: 'reject' }, penalty: { strikes: 3, window: '60s' } },
};

describe('names whose endpoints are as long as a call may have them', () => {
  it('fill neither the checkpoint nor the journal, and leases are given', async () => {
    const bed = await FloodBed.start(POLICY);
    const { broker } = bed;
    const plugin = await bed.plugin('gpu', { devices: healthy('a') });
    await plugin.register(broker.kubeletSocket);
    await broker.onDisk(plugin.resource);
    const client = new AllocClient(path.join(broker.root, 'alloc.sock'));
    after(() => client.close());
    const long = '\u0001'.repeat(4096);
    await Promise.all(
      Array.from({ length: NAMES }, async (_, name) => {
        const caller = new RegisterCaller(broker.kubeletSocket, `evil${String(name)}.com/x`, long);
        const refused: string[] = [];
        for (let call = 0; call < 6; call += 1) refused.push((await caller.call())?.details.split(':')[0] ?? '');
        caller.close();
        assert.deepEqual([refused[0], refused.at(-1)], ['ENDPOINT_TOO_LONG', 'QUARANTINED']);
      }),
    );
    const inQuarantine = (): number => bed.checkpoint().split('"quarantineLeftMs":').length - 1;
    await eventually('they are on the disk', () => inQuarantine() === NAMES);
    assert.ok(bed.checkpoint().length < NAMES * 1024, String(bed.checkpoint().length));
    const journal = readFileSync(path.join(broker.root, 'state', 'events.jsonl'), 'utf8').split('\n');
    const longest = Math.max(...journal.map((line) => Buffer.byteLength(line)));
    assert.ok(longest < 2048, String(longest));
    const lease = await client.one(plugin.resource);
    assert.deepEqual(lease.granted, [{ resource: plugin.resource, ids: ['a'], numaNodes: [] }]);
  });
});
