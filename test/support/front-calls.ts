import assert from 'node:assert/strict';
import { FrontCalls } from '../../src/front/calls.js';
import { KeptWaiting } from '../../src/front/kept-waiting.js';
import type { DeviceCall, FrontFailure, ResourceNow } from '../../src/front/ports.js';
import type { DeviceMethod } from '../../src/model/device-use.js';
import { FakeClock } from './fake-clock.js';
import { NO_OWNERS, READY, WIRE } from './front-ports.js';

/** A resource whose plugin answers as it is told to. */
export function callsOfOne() {
  const clock = new FakeClock();
  const facts = {
    instance: 'first',
    state: 'ready' as ResourceNow['state'],
    /** Further facts about the resource. */
    more: {} as Partial<ResourceNow>,
    /** The ids of each request, and the health of the devices that are listed. */
    ids: ['d'] as readonly string[],
    health: { d: true } as Readonly<Record<string, boolean>>,
    isAlive: true,
    /** How often it was asked for a sign of life. */
    probes: 0,
    /** The kubelet could not be asked about owners for long. */
    needsQuiet: false,
    /** Allocates that the owners know to be under way. */
    underWay: 0,
    /** The ordinary user whose plugin it is. */
    user: undefined as number | undefined,
    asked: [] as string[],
    given: [] as string[],
    /** Milliseconds that calls waited at the gate before it opened. */
    waited: [] as number[],
    answer: (_instanceId: string, _call: DeviceCall, _signal: AbortSignal): Promise<Buffer> =>
      Promise.resolve(Buffer.from('ok')),
  };
  const calls = new FrontCalls({
    resource: 'example.com/a',
    clock,
    resources: {
      now: () => ({ ...READY, instanceId: facts.instance, state: facts.state, ...facts.more }),
      call: (instanceId, asked, signal) => {
        facts.asked.push(instanceId);
        return facts.answer(instanceId, asked, signal);
      },
      isAlive: () => {
        facts.probes++;
        return Promise.resolve(facts.isAlive);
      },
    },
    owners: {
      ...NO_OWNERS,
      giving: (_resource, ids) => void facts.given.push(...ids),
      allocating: (by) => void (facts.underWay += by),
      needsQuiet: () => facts.needsQuiet,
    },
    wire: {
      ...WIRE,
      idsOf: () => facts.ids,
      unlisted: () => assert.fail('a list may be long: it is read in turns'),
      healthInTurns: () => Promise.resolve(new Map(Object.entries(facts.health))),
      started: Buffer.from('started'),
    },
    limits: { holdMs: 2000, allocateMs: 1000, preferredMs: 1000, preStartMs: 1000 },
    keptWaiting: new KeptWaiting(),
    userOf: () => facts.user,
    speculation: () => 'off',
    gateWaited: (seconds) => void facts.waited.push(seconds * 1000),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const call = (method: DeviceMethod): Promise<string> =>
    calls.call(method, Buffer.from('q'), new AbortController()).then(
      (bytes) => bytes.toString(),
      (failure: unknown) => {
        const { status, message } = failure as FrontFailure;
        return `${String(status)} ${message}`;
      },
    );
  const allocate = (): Promise<string> => call('Allocate');
  const preStart = (): Promise<string> => call('PreStartContainer');
  return { clock, facts, calls, settle, call, allocate, preStart };
}
