import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { eventually } from '../../support/eventually.js';
import { healthy, type FakeDevice } from '../../support/fake-plugin.js';
import { FloodBed } from './flood-bed.js';

/** google/rpc/status.proto and error_details.proto, read by a library that is not ours. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
`);

function retryDelayMs(bytes: Buffer): number {
  const { code, details } = root.lookupType('Status').decode(bytes).toJSON() as {
    code: number;
    details: { typeUrl: string; value: string }[];
  };
  assert.equal(code, status.RESOURCE_EXHAUSTED);
  assert.deepEqual(
    details.map(({ typeUrl }) => typeUrl),
    ['type.googleapis.com/google.rpc.RetryInfo'],
  );
  const { retryDelay } = root
    .lookupType('RetryInfo')
    .decode(Buffer.from(details[0]?.value ?? '', 'base64'))
    .toJSON() as { retryDelay: { seconds?: string; nanos?: number } };
  return Number(retryDelay.seconds ?? 0) * 1000 + (retryDelay.nanos ?? 0) / 1e6;
}

/** A rule for one plugin. */
const rule = (name: string, flood: object): object => ({ match: { name: `example.com/${name}` }, flood });
const slowly = (onExceed: string): object => ({ register: { burst: 1, interval: '20s', onExceed } });

describe('a plugin that exceeds its limit', async () => {
  const bed = await FloodBed.start({
    rules: [
      rule('reject', slowly('reject')),
      rule('disconnect', slowly('disconnect')),
      rule('delay', { register: { burst: 1, interval: '2s', onExceed: 'delay', maxDelay: '4s' } }),
      rule('calm', { updates: { burst: 1, interval: '100ms' } }),
      rule('closed', { updates: { burst: 1, interval: '50ms', onExceed: 'disconnect' } }),
    ],
  });

  it('is told by reject when to come back, in words and as google.rpc.RetryInfo', async () => {
    const caller = bed.caller(await bed.plugin('reject'));
    assert.equal(await caller.call(), undefined);
    const refusal = await caller.call();
    assert.equal(refusal?.code, status.RESOURCE_EXHAUSTED);
    assert.match(
      refusal.details,
      /^FLOOD_REGISTER: DevicePlugin example\.com\/reject(?: of uid \d+)? registers more often than rules\[0\]\.flood\.register allows \(burst 1, then one each 20 s\); try again in [\d.]+ s$/,
    );
    const [details] = refusal.metadata.get('grpc-status-details-bin');
    assert.ok(Buffer.isBuffer(details));
    const waitMs = retryDelayMs(details);
    assert.ok(waitMs > 0 && waitMs <= 20_000, String(waitMs));
    assert.equal(Number(refusal.metadata.get('grpc-retry-pushback-ms')[0]), waitMs);
    assert.ok(caller.isConnected, 'reject closes nothing');
  });

  it('loses by disconnect the connection that called, and no other, not even of the same process', async () => {
    const plugin = await bed.plugin('disconnect');
    const [flooding, quiet] = [bed.caller(plugin), bed.caller(plugin)];
    const bystander = bed.caller(await bed.plugin('bystander'));
    assert.equal(await quiet.call(), undefined);
    assert.equal(await bystander.call(), undefined);
    const refusal = await flooding.call();
    assert.equal(refusal?.code, status.RESOURCE_EXHAUSTED, refusal?.details);
    await flooding.lost();
    assert.deepEqual([quiet.isConnected, bystander.isConnected], [true, true]);
    assert.equal(await bystander.call(), undefined);
    assert.equal(await bed.metric('plugin_broker_flood_exceeded_total{limit="register",action="disconnect"}'), 1);
  });

  it('is held by delay until its turn, then let in', async () => {
    const caller = bed.caller(await bed.plugin('delay'));
    assert.equal(await caller.call(), undefined);
    let isAnswered = false;
    const second = caller.call().finally(() => (isAnswered = true));
    await bed.sees('example.com/delay', 'flood', /; it is held for [\d.]+ s$/);
    assert.equal(isAnswered, false);
    assert.equal((await bed.limit('register', 'example.com/delay'))?.slowing, 'delay');
    assert.equal(await second, undefined);
    assert.equal((await bed.broker.admin.plugins('example.com/delay'))[0]?.counters.registrations, 2);
  });

  it('is coalesced to its newest list, Unhealthy included, when it stops in the middle', async () => {
    const plugin = await bed.plugin('calm');
    await plugin.register(bed.broker.kubeletSocket);
    await eventually('its stream is open', () => plugin.streams === 1);
    const list = (nth: number): FakeDevice[] => healthy(...Array.from({ length: 20 }, (_, id) => `v${nth}-${id}`));
    for (let nth = 0; nth < 2_000; nth += 1) plugin.setDevices(list(nth));
    plugin.setDevices([...list(2_000), { id: 'ill', health: 'Unhealthy' }]);
    const resource = await eventually('the newest list counts', async () => {
      const [seen] = await bed.broker.admin.resources('example.com/calm', false);
      return seen?.devices.some(({ id }) => id === 'ill') === true ? seen : undefined;
    });
    assert.deepEqual([resource.capacity, resource.allocatable], [21, 20]);
    assert.equal(resource.devices[0]?.id, 'v2000-0');
    const [view] = await bed.broker.admin.plugins('example.com/calm');
    assert.equal(view?.counters.strikes, 0);
    const { updates, coalesced } = view.counters;
    assert.equal(updates, 2_002, 'none is lost on the way');
    assert.ok(coalesced > 1_000, `${coalesced} were dropped undecoded`);
  });

  it('whose policy says so is disconnected after its last list was taken, and opened again', async () => {
    const plugin = await bed.plugin('closed', { devices: healthy('a') });
    await plugin.register(bed.broker.kubeletSocket);
    await eventually('its stream is open', () => plugin.streams === 1);
    let sent = 1;
    await eventually('its session is closed', () => {
      if (plugin.streams === 0) return true;
      sent += 1;
      plugin.setDevices(healthy(...Array.from({ length: sent }, (_, id) => `d${id}`)));
      return false;
    });
    const held = await bed.sees('example.com/closed', 'state', /is held: sent lists faster than/);
    await eventually(
      'its newest list counts',
      async () => (await bed.broker.allocatable('example.com/closed')) === sent,
    );
    // It is ready with its last list as soon as it has answered, a moment before its stream is open.
    await eventually('its stream is opened again', () => plugin.count('ListAndWatch') === 2);
    const back = await bed.sees('example.com/closed', 'state', /is ready: answered/);
    assert.ok(Date.parse(back.time) - Date.parse(held.time) >= 500, 'not before ten intervals');
    const [view] = await bed.broker.admin.plugins('example.com/closed');
    assert.deepEqual([view?.counters.disconnects, view?.counters.strikes], [1, 0], 'the first of a window is free');
  });
});
