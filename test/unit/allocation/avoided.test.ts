import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Asking } from '../../../src/allocation/asking.js';
import { DecisionTime } from '../../../src/allocation/decision-time.js';
import { Ledger } from '../../../src/allocation/ledger.js';
import type { AllocationPorts } from '../../../src/allocation/ports.js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { FakeClock } from '../../support/fake-clock.js';

it('devices of a call that was not answered are remembered for 10 s and no longer, each resource for itself', async () => {
  const clock = new FakeClock();
  const late = Object.assign(new Error('late'), { status: GRPC_STATUS.DEADLINE_EXCEEDED });
  const ports = {
    clock,
    ownUid: 0,
    timeouts: { allocateMs: 1, preferredMs: 1 },
    store: { expect: () => undefined },
    offers: { of: (name: string) => ({ instanceId: name, plugin: { allocate: () => Promise.reject(late) } }) },
  } as unknown as AllocationPorts;
  const again: string[] = [];
  const asking = new Asking(ports, new Ledger(), new DecisionTime(ports), (resource) => again.push(resource));
  const ask = (resource: string, ...ids: string[]): Promise<unknown> => {
    const devices = ids.map((id) => ({ id, numaNodes: [] }));
    return asking.ask({ granted: [{ resource, devices }], uid: 0 }, new AbortController().signal);
  };
  await ask('v/a', '1', '2');
  await clock.advance(6000);
  await ask('v/a', '2', '3');
  await ask('v/b', '1');
  assert.equal(asking.avoided, 4);
  await clock.advance(4000);
  assert.deepEqual(
    ['1', '2', '3'].map((id) => asking.isAvoided('v/a', id)),
    [false, true, true],
  );
  assert.equal(asking.avoided, 3);
  assert.deepEqual(again, ['v/a']);
  await clock.advance(6000);
  assert.equal(asking.avoided, 0);
  assert.deepEqual(again, ['v/a', 'v/a', 'v/b']);
});
