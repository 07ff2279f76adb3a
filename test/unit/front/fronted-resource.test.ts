import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FrontedResource } from '../../../src/front/fronted-resource.js';
import { Registrations } from '../../../src/front/registrations.js';
import type { FrontedService, ListOut, ResourceNow } from '../../../src/front/ports.js';
import { FakeClock } from '../../support/fake-clock.js';
import { NO_OWNERS, READY, WIRE } from '../../support/front-ports.js';

/** A resource with a ready plugin before a kubelet that opens a stream for each Register. */
function world() {
  const clock = new FakeClock();
  const facts = {
    registers: 0,
    streams: 0,
    service: undefined as FrontedService | undefined,
    now: READY as ResourceNow | undefined,
  };
  const open = (): void => {
    const out: ListOut = {
      send: () => undefined,
      end: () => {
        facts.streams--;
        queueMicrotask(() => ended?.());
      },
    };
    facts.streams++;
    const ended = facts.service?.watch(out);
  };
  const resource = new FrontedResource('example.com/a', {
    clock,
    random: { next: () => 1 },
    resources: {
      names: () => ['example.com/a'],
      now: () => facts.now,
      call: () => undefined,
      isAlive: () => Promise.resolve(true),
    },
    owners: NO_OWNERS,
    wire: WIRE,
    kubelet: {
      incarnation: () => 'k1',
      register: () => {
        facts.registers++;
        open();
        return Promise.resolve();
      },
    },
    openSockets: (_name, service) => {
      facts.service = service;
      return {
        endpoint: 'a.sock',
        ensure: () => Promise.resolve(),
        enter: () => undefined,
        close: () => undefined,
      };
    },
    limits: { holdMs: 2000, allocateMs: 1000, preferredMs: 1000, preStartMs: 1000 },
    speculation: () => 'off',
    usesRegistry: true,
    registrations: new Registrations(clock),
    changed: () => undefined,
    called: () => undefined,
    gateWaited: () => undefined,
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  resource.refresh();
  return { clock, facts, resource, settle };
}

describe('a plugin that registered past us and leaves', () => {
  it('takes our client at the kubelet with it, so that our streams end and Register is called again', async () => {
    const { clock, facts, resource, settle } = world();
    await settle();
    assert.deepEqual([facts.registers, facts.streams, resource.view.state], [1, 1, 'fronted']);
    await clock.advance(5000);
    resource.notHad();
    await settle();
    assert.deepEqual([facts.registers, facts.streams, resource.view.state], [2, 1, 'fronted']);
    await resource.close(0);
  });

  it('is not suspected while the kubelet may not have taken in yet what it was told', async () => {
    const { clock, facts, resource, settle } = world();
    await settle();
    await clock.advance(4999);
    resource.notHad();
    await settle();
    assert.deepEqual([facts.registers, facts.streams], [1, 1]);
    await resource.close(0);
  });
});

describe('a list that is too large for the kubelet', () => {
  it('is no matter any more when its plugin has gone', async () => {
    const { facts, resource, settle } = world();
    await settle();
    facts.now = { ...READY, list: Buffer.alloc(4 * 1024 * 1024) };
    resource.refresh();
    assert.equal(resource.view.state, 'too-large');
    facts.now = undefined;
    resource.refresh();
    assert.deepEqual([resource.view.state, resource.view.reason], ['off', 'it has no devices now']);
    await resource.close(0);
  });
});
