import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FrontedResource } from '../../../src/front/fronted-resource.js';
import { COMPOSING_TURNS } from '../../../src/front/list-composer.js';
import { KeptWaiting } from '../../../src/front/kept-waiting.js';
import { Registrations } from '../../../src/front/registrations.js';
import { ToldShares } from '../../../src/front/told-shares.js';
import type { FrontedService, ListOut, ResourceNow } from '../../../src/front/ports.js';
import { FairRoom } from '../../../src/kernel/fair-room.js';
import type { DeviceOptions } from '../../../src/model/device-use.js';
import { FakeClock } from '../../support/fake-clock.js';
import { NO_OWNERS, READY, WIRE } from '../../support/front-ports.js';

/** A resource before a kubelet that opens a stream for each Register; its plugin is ready unless it is said otherwise. */
function world(now: ResourceNow = READY) {
  const clock = new FakeClock();
  const registrations = new Registrations(clock);
  const facts = {
    user: undefined as number | undefined,
    speculation: 'off' as 'on' | 'off',
    kubelet: 'k1',
    registers: 0,
    streams: 0,
    service: undefined as FrontedService | undefined,
    now: now as ResourceNow | undefined,
    /** The options of each Register. */
    announced: [] as DeviceOptions[],
    /** What the kubelet reads, in its order: lists with devices, lists without, ends of streams. */
    heard: [] as ('list' | 'empty' | 'end')[],
  };
  const open = (): void => {
    const out: ListOut = {
      send: (list) => void facts.heard.push(list.length === 0 ? 'empty' : 'list'),
      end: () => {
        facts.heard.push('end');
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
    wire: { ...WIRE, composeInTurns: () => Promise.resolve(Buffer.from('all unhealthy')) },
    userOf: () => (facts.now === undefined ? undefined : facts.user),
    composing: new FairRoom(COMPOSING_TURNS),
    kubelet: {
      incarnation: () => facts.kubelet,
      register: (_resource, _endpoint, options) => {
        facts.registers++;
        facts.announced.push(options);
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
    speculation: () => facts.speculation,
    usesRegistry: true,
    registrations,
    keptWaiting: new KeptWaiting(),
    shares: new ToldShares(NO_OWNERS, () => undefined),
    changed: () => undefined,
    called: () => undefined,
    gateWaited: () => undefined,
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  resource.refresh();
  return { clock, facts, registrations, resource, settle };
}

describe('the user of a resource', () => {
  it('is that of the plugin that spoke for it last, when that has gone, too', async () => {
    const { facts, resource } = world({ ...READY, uid: 4001 });
    facts.now = undefined;
    resource.refresh();
    assert.equal(facts.service?.uid, 4001);
    await resource.close(0);
  });

  it('has the turns of its Register, also while what was known of it before a reboot is all that is left', async () => {
    const { facts, registrations, resource, settle } = world({ ...READY, isHint: true, isConfirmed: false });
    facts.user = 4001;
    facts.speculation = 'on';
    resource.refresh();
    await settle();
    assert.equal(facts.registers, 1);
    const never = new AbortController().signal;
    const leave = await Promise.all(Array.from({ length: 4 }, () => registrations.begin(4001, never)));
    facts.now = undefined; // its grace is over
    facts.kubelet = 'k2';
    resource.refresh();
    resource.kubeletChanged();
    await settle();
    assert.deepEqual(
      [facts.registers, resource.view.reason],
      [1, 'it waits for its turn to be registered'],
      'four others of its user are being registered',
    );
    for (const go of leave) go();
    await settle();
    assert.equal(facts.registers, 2);
    await resource.close(0);
  });
});

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

describe('a long list that is not told as its plugin sent it', () => {
  it('is told when it was read in turns, and the list before it stays meanwhile', async () => {
    const { facts, resource, settle } = world();
    await settle();
    facts.now = { ...READY, state: 'quarantined', list: Buffer.alloc(1024 * 1024) };
    resource.refresh();
    assert.deepEqual([facts.heard, resource.view.told], [['list'], { healthy: 1, unhealthy: 0 }]);
    await settle();
    assert.deepEqual([facts.heard, resource.view.told], [['list', 'list'], { healthy: 0, unhealthy: 1 }]);
    await resource.close(0);
  });
});

describe('a resource that is over', () => {
  for (const [what, now] of [
    ['has gone', { ...READY, state: 'gone' }],
    ['was rejected', { ...READY, state: 'rejected' }],
    ['lists nothing', { ...READY, list: Buffer.alloc(0), devices: 0, healthy: 0 }],
    ['is not known any more', undefined],
  ] as const) {
    it(`is taken from the kubelet by an empty list and then the end of its stream, as its plugin ${what}`, async () => {
      const { facts, resource, settle } = world();
      await settle();
      assert.deepEqual(facts.heard, ['list']);
      facts.now = now;
      resource.refresh();
      await settle();
      assert.deepEqual(facts.heard, ['list', 'empty', 'end']);
      resource.refresh();
      await settle();
      assert.deepEqual([facts.heard.length, facts.registers], [3, 1], 'said once, and not registered again');
      facts.now = READY;
      resource.refresh();
      await settle();
      assert.deepEqual([facts.heard.slice(3), facts.registers], [['list'], 2], 'it is back');
      await resource.close(0);
    });
  }

  it('answers a kubelet that comes for it all the same with nothing', async () => {
    const { facts, resource, settle } = world();
    await settle();
    facts.now = undefined;
    resource.refresh();
    await settle();
    const heard: string[] = [];
    facts.service?.watch({ send: (list) => void heard.push(String(list.length)), end: () => void heard.push('end') });
    assert.deepEqual(heard, ['0', 'end']);
    await resource.close(0);
  });
});

describe('a plugin that lists nothing and then devices again, all the time', () => {
  it('costs the kubelet one Register at once and a few in a minute, and lists with them', async () => {
    const { clock, facts, resource, settle } = world();
    await settle();
    for (let nth = 0; nth < 240; nth++) {
      facts.now = { ...READY, list: nth % 2 === 0 ? Buffer.alloc(0) : READY.list };
      resource.refresh();
      await clock.advance(250);
      if (nth === 1) assert.equal(facts.registers, 2);
    }
    assert.ok(facts.registers <= 8, `${String(facts.registers)} Register calls in a minute`);
    assert.ok(facts.heard.length <= 3 * facts.registers, `${String(facts.heard.length)} lists and ends of streams`);
    await resource.close(0);
  });
});

describe('the gate before containers', () => {
  const options = (preStartRequired: boolean): Pick<ResourceNow, 'options'> => ({
    options: { preStartRequired, preferredAllocationAvailable: false },
  });
  for (const [what, now, expected] of [
    ['ready', READY, false],
    ['ready and wants the call', { ...READY, ...options(true) }, true],
    ['held and was reached before', { ...READY, state: 'held' }, false],
    ['held, was reached before and wants the call', { ...READY, state: 'held', ...options(true) }, true],
    ['restored and not reached yet', { ...READY, state: 'restored', isConfirmed: false }, true],
    ['held and not reached yet', { ...READY, state: 'held', isConfirmed: false }, true],
  ] as const) {
    it(`is ${expected ? '' : 'not '}announced to the kubelet while a plugin is ${what}`, async () => {
      const { facts, resource, settle } = world(now);
      await settle();
      assert.deepEqual(
        facts.announced.map(({ preStartRequired }) => preStartRequired),
        [expected],
      );
      assert.equal(resource.options().preStartRequired, expected);
      await resource.close(0);
    });
  }

  it('is not dropped by another Register when the plugin is there', async () => {
    const { facts, resource, settle } = world({ ...READY, state: 'restored', isConfirmed: false });
    await settle();
    facts.now = READY;
    resource.refresh();
    await settle();
    assert.deepEqual([facts.registers, resource.view.state], [1, 'fronted']);
    await resource.close(0);
  });
});
