import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PolicySource } from '../../../src/model/settings.js';
import { FLOOD, FloodWorld, policySource, processOf, refusalOf, subjectOf } from '../../support/flood-world.js';
import { FakeClock } from '../../support/fake-clock.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe('a quarantine', () => {
  it('begins after ten strikes in a minute, and is told with the offender, its length and how to lift it', () => {
    const world = new FloodWorld();
    world.misbehave();
    assert.equal(world.began[0]?.lengthMs, 60_000);
    assert.deepEqual(world.events.messages('quarantine'), [
      'DevicePlugin vendor.com/gpu is kept out for 60 s after 10 strikes within 60 s; `plugin-broker pardon vendor.com/gpu` lifts it',
    ]);
    assert.equal(world.counts.get('register reject'), 11, 'the first exceeding of a window is no strike');
    assert.equal(world.log.lines[0]?.level, 'warn');
  });

  it('refuses without counting, and says how long it lasts', async () => {
    const world = new FloodWorld();
    world.misbehave();
    await world.clock.advance(18_000);
    const refusal = refusalOf(world.register());
    assert.deepEqual(refusal, {
      code: 'QUARANTINED',
      message: 'DevicePlugin vendor.com/gpu is in quarantine after too many strikes; it is let in again in 42 s',
      retryAfterMs: 42_000,
    });
  });

  it('is not lengthened by calls inside it, and ends by itself with what is to be pulled', async () => {
    const world = new FloodWorld();
    world.misbehave();
    for (let second = 0; second < 59; second += 1) {
      await world.clock.advance(1_000);
      world.register({ socket: `gpu-${second}.sock`, endpoint: `gpu-${second}.sock`, versions: ['v1beta1'] });
    }
    assert.equal(world.ended.length, 0);
    await world.clock.advance(1_000);
    const [ended] = world.ended;
    assert.equal(ended?.last?.endpoint, 'gpu-58.sock', 'the endpoint named last');
    assert.deepEqual(ended.last.versions, ['v1beta1']);
    assert.equal(world.register().kind, 'pass');
    assert.equal(world.clock.pending, 0);
  });

  it('is longer the next time', async () => {
    const world = new FloodWorld();
    world.misbehave();
    await world.clock.advance(60_000);
    world.misbehave();
    assert.deepEqual(
      world.began.map((quarantine) => quarantine.lengthMs),
      [60_000, 120_000],
    );
  });

  it('comes to no plugin of root or of the broker where other users may move names, and so choose when it registers', () => {
    for (const [uid, door, isKeptOut] of [
      [0, 'register', false],
      [0, 'watcher', false],
      [4001, 'register', true],
    ] as const) {
      const world = new FloodWorld();
      world.namesMove = true;
      for (let call = 0; call < 100; call += 1) world.register({ uid, door });
      assert.equal(world.began.length, isKeptOut ? 1 : 0, `uid ${String(uid)}, ${door}`);
      assert.ok((world.counts.get('register reject') ?? world.counts.get('register delay') ?? 0) >= 11, 'it is slowed');
      world.namesMove = false;
      if (!isKeptOut) world.misbehave({ uid, door: 'register' });
      assert.equal(world.began.length, 1, 'once they may not any more it is kept out');
    }
  });

  it('is not needed to be called back: a refused plugin is called when its next permit is there, once', async () => {
    for (const [uid, namesMove] of [
      [0, true],
      [0, false],
      [4001, false],
    ] as const) {
      const world = new FloodWorld();
      world.namesMove = namesMove;
      for (let call = 1; call <= 8; call += 1) world.register({ uid, endpoint: `gpu-${String(call)}.sock` });
      assert.equal(world.ended.length, 0);
      await world.clock.advance(2_000);
      assert.deepEqual(
        world.ended.map(({ last }) => last?.endpoint),
        ['gpu-8.sock'],
        'the endpoint named last',
      );
      assert.equal(world.clock.pending, 0);
      world.register({ uid });
      world.gate.close();
    }
  });

  it('puts off that a plugin is called back which was refused before it', async () => {
    const world = new FloodWorld();
    for (let call = 1; world.began.length === 0; call += 1) world.register({ uid: 4001 });
    await world.clock.advance(59_000);
    assert.equal(world.ended.length, 0);
    await world.clock.advance(1_000);
    assert.equal(world.ended.length, 1);
  });

  it('slows and then keeps out a plugin that crashes and registers each second with a new pid and socket', async () => {
    const world = new FloodWorld();
    let keptOutAfter = 0;
    for (let second = 1; keptOutAfter === 0 && second < 120; second += 1) {
      const verdict = world.register({ caller: processOf(second), socket: `gpu-${second}.sock` });
      if (refusalOf(verdict)?.code === 'QUARANTINED') keptOutAfter = second;
      await world.clock.advance(1_000);
    }
    assert.ok(keptOutAfter > 10 && keptOutAfter < 40, `after ${keptOutAfter} s`);
    assert.ok((world.counts.get('register delay') ?? 0) > 0);
    const pids = world.began[0]?.offenders.map((offender) => offender.pid) ?? [];
    assert.ok(pids.includes(keptOutAfter) && pids.length <= 8);
  });

  it('names as offenders only the processes that exceeded, each once', () => {
    const world = new FloodWorld();
    world.register({ caller: processOf(10) });
    world.misbehave({ caller: processOf(20) });
    assert.deepEqual(
      world.began[0]?.offenders.map((offender) => offender.pid),
      [20],
    );
  });

  it('names all that exceeded, newest last, and no more than eight', () => {
    const world = new FloodWorld();
    for (let pid = 1; pid <= 40; pid += 1) world.register({ caller: processOf(pid) });
    const pids = world.began[0]?.offenders.map((offender) => offender.pid) ?? [];
    assert.equal(pids.length, 8);
    assert.deepEqual(
      pids,
      [...pids].sort((a, b) => (a ?? 0) - (b ?? 0)),
    );
    for (const pid of pids) assert.equal(world.register({ pulled: true, caller: processOf(pid ?? 0) }).kind, 'refuse');
  });

  it('is worth a checkpoint when a pardon ends it, and so are the strikes that it takes away', async () => {
    const world = new FloodWorld();
    world.misbehave();
    const before = world.changes;
    world.gate.pardon('DevicePlugin', 'vendor.com/gpu');
    assert.ok(world.changes > before);
    assert.deepEqual(world.gate.snapshot(), []);
    for (let call = 0; call < 4; call += 1) world.register();
    await world.clock.advance(2_000);
    const struck = world.changes;
    world.gate.pardon('DevicePlugin', 'vendor.com/gpu');
    assert.equal(world.changes, struck + 1);
  });

  it('does not keep a pull of an incarnation out that never offended', () => {
    const world = new FloodWorld();
    world.misbehave({ caller: processOf(20) });
    assert.equal(world.register({ pulled: true, caller: processOf(10) }).kind, 'pass');
    assert.equal(refusalOf(world.register({ pulled: true, caller: processOf(20) }))?.code, 'QUARANTINED');
    assert.equal(refusalOf(world.register({ pulled: true, caller: undefined }))?.code, 'QUARANTINED');
    assert.equal(refusalOf(world.register({ caller: processOf(10) }))?.code, 'QUARANTINED', 'but a call it does');
  });

  it('keeps out the uid that misbehaved, and no other that registers the same name', () => {
    const world = new FloodWorld();
    world.misbehave({ uid: 1_000 });
    assert.equal(world.register({ uid: 0 }).kind, 'pass');
    const whose = /^DevicePlugin vendor\.com\/gpu of uid 1000 is /;
    assert.match(world.events.messages('quarantine')[0] ?? '', whose, 'it stands in the history of that name');
    assert.match(refusalOf(world.register({ uid: 1_000 }))?.message ?? '', whose);
  });

  it('is lifted by a pardon, which calls the plugin back and forgets its strikes', () => {
    const world = new FloodWorld();
    world.misbehave();
    assert.equal(world.gate.pardon('DevicePlugin', 'vendor.com/nic'), 0);
    assert.equal(world.gate.pardon('DevicePlugin', 'vendor.com/gpu'), 1);
    assert.equal(world.gate.pardon('DevicePlugin', 'vendor.com/gpu'), 0);
    assert.equal(world.ended.length, 1);
    assert.match(
      world.events.messages('quarantine').at(-1) ?? '',
      /was lifted by an operator; the broker calls it back$/,
    );
    assert.equal(refusalOf(world.register())?.code, 'FLOOD_REGISTER', 'its permits are as they were');
    assert.equal(world.clock.pending, 1, 'it is called back when its next permit is there');
    world.gate.close();
  });

  it('is the same length under any change of the wall clock', async () => {
    for (const stepMs of [49 * DAY_MS, -49 * DAY_MS, 3_600_000, -3_600_000]) {
      const world = new FloodWorld();
      world.misbehave();
      await world.clock.advance(30_000);
      world.clock.stepWall(stepMs);
      assert.equal(refusalOf(world.register())?.retryAfterMs, 30_000);
      await world.clock.advance(30_000);
      assert.equal(world.ended.length, 1);
    }
  });

  it('of invalid names is nobody to pull, and leaves valid ones alone', async () => {
    const world = new FloodWorld();
    world.misbehave({ name: '', badName: true });
    assert.equal(world.began.length, 0);
    assert.match(
      refusalOf(world.register({ name: '', badName: true }))?.message ?? '',
      /^plugins with invalid names of uid 0 are in quarantine after too many strikes; they are let in again in /,
    );
    assert.equal(world.register().kind, 'pass');
    await world.clock.advance(60_000);
    assert.equal(world.ended.length, 0);
    assert.equal(world.register({ name: '', badName: true }).kind, 'pass');
  });

  it('is worth a checkpoint at once, strikes at most once a second', async () => {
    const world = new FloodWorld();
    for (let call = 0; call < 12; call += 1) world.register();
    assert.equal(world.changes, 0);
    await world.clock.advance(1_000);
    assert.equal(world.changes, 1);
    world.misbehave();
    assert.equal(world.changes, 2);
  });
});

describe('strikes and quarantines in the checkpoint', () => {
  const restarted = (
    before: FloodWorld,
    { downMs = 0, wallStepMs = 0, isSameBoot = true, policy = policySource() } = {},
  ): FloodWorld => {
    const records: unknown = JSON.parse(JSON.stringify(before.gate.snapshot()));
    assert.ok(Array.isArray(records));
    const wallMs = before.clock.wall() + downMs + wallStepMs;
    const bootMs = isSameBoot ? 1_000_000 + before.clock.mono() + downMs : 5_000;
    const clock = new FakeClock(wallMs);
    const world = new FloodWorld(policy, clock, () => bootMs + clock.mono());
    world.ended.push(...world.gate.restore(records, isSameBoot));
    return world;
  };

  it('outlive a restart: a quarantine goes on for what is left of it', async () => {
    const before = new FloodWorld();
    before.misbehave({ endpoint: 'gpu.sock', versions: ['v1beta1'] });
    await before.clock.advance(10_000);
    const world = restarted(before, { downMs: 5_000 });
    assert.equal(world.gate.quarantines, 1);
    assert.equal(world.gate.snapshot()[0]?.quarantineLeftMs, 45_000);
    assert.deepEqual(world.began[0]?.offenders, before.began[0]?.offenders, 'their sessions are not opened again');
    assert.match(world.events.messages('quarantine')[0] ?? '', /gpu is kept out for another 45 s/);
    await world.clock.advance(45_000);
    assert.equal(world.ended[0]?.last?.endpoint, 'gpu.sock');
    assert.deepEqual(world.ended[0].last.versions, ['v1beta1']);
  });

  for (const downMs of [61_000, 3_600_000]) {
    it(`that ended while the broker was down for ${downMs} ms are told, so that the plugin is pulled`, () => {
      const before = new FloodWorld();
      before.misbehave({ endpoint: 'gpu.sock' });
      const world = restarted(before, { downMs });
      assert.equal(world.gate.quarantines, 0);
      assert.deepEqual([world.began.length, world.ended.length], [0, 1]);
      assert.equal(world.ended[0]?.last?.endpoint, 'gpu.sock');
    });
  }

  it('outlive it with the strikes that had not led to one yet', () => {
    const before = new FloodWorld();
    for (let call = 0; call < 15; call += 1) before.register();
    assert.equal(before.began.length, 0);
    const world = restarted(before);
    for (let call = 0; call < 5; call += 1) world.register();
    assert.equal(refusalOf(world.register())?.code, 'QUARANTINED', 'the tenth strike');
  });

  it('know after a reboot that pids mean other processes now: one with the pid of an offender is none', () => {
    const before = new FloodWorld();
    before.misbehave({ caller: processOf(20) });
    const world = restarted(before, { isSameBoot: false });
    assert.deepEqual(
      world.began.map(({ offenders }) => offenders),
      [[]],
    );
  });

  it('outlive it with the growth of the next one, and with the offenders', () => {
    const before = new FloodWorld();
    before.misbehave({ caller: processOf(20) });
    const world = restarted(before);
    assert.equal(world.register({ pulled: true, caller: processOf(10) }).kind, 'pass');
    assert.equal(world.register({ pulled: true, caller: processOf(20) }).kind, 'refuse');
    world.gate.pardon('DevicePlugin', 'vendor.com/gpu');
    assert.equal(
      restarted(world)
        .gate.limits()
        .filter((limit) => limit.limit === 'register').length,
      0,
    );
  });

  for (const wallStepMs of [-49 * DAY_MS, -3_600_000, 3_600_000, 49 * DAY_MS]) {
    it(`last as long as they would have when the wall clock steps by ${wallStepMs} ms in one boot`, async () => {
      const before = new FloodWorld();
      before.misbehave();
      await before.clock.advance(20_000);
      const world = restarted(before, { downMs: 1_000, wallStepMs });
      assert.equal(refusalOf(world.register())?.retryAfterMs, 39_000);
    });

    it(`are never longer than what was left when the wall clock steps by ${wallStepMs} ms over a reboot`, async () => {
      const before = new FloodWorld();
      before.misbehave();
      await before.clock.advance(20_000);
      const world = restarted(before, { downMs: 1_000, wallStepMs, isSameBoot: false });
      assert.ok((refusalOf(world.register())?.retryAfterMs ?? 0) <= 40_000);
    });
  }

  it('survive what is not a record of ours', () => {
    const [record] = (() => {
      const before = new FloodWorld();
      before.misbehave();
      return before.gate.snapshot();
    })();
    const world = new FloodWorld();
    const damaged = [
      null,
      7,
      'x',
      [],
      {},
      { ...record, uid: -1 },
      { ...record, stamp: undefined },
      { ...record, strikesAgoMs: ['x'] },
      { ...record, quarantineLeftMs: Number.NaN },
      { ...record, served: '1' },
      { ...record, offenders: [{ pid: 1 }] },
      { ...record, last: { socket: 7 } },
      { ...record, name: 'x'.repeat(5_000) },
    ];
    world.gate.restore(damaged, true);
    assert.equal(world.gate.quarantines, 0);
    world.gate.restore([{ ...record, quarantineLeftMs: 1e15 }], true);
    assert.equal(refusalOf(world.register())?.retryAfterMs, 600_000, 'at most the longest of the policy');
  });

  it('go on by the rule of the socket that was named', () => {
    const usual = policySource();
    const penalty = { ...FLOOD.penalty, quarantineMs: 1_800_000, maxMs: 3_600_000 };
    const longer = policySource({ penalty }).policyFor('', '', '');
    const policy: PolicySource = {
      ...usual,
      policyFor: (type, name, socket) => (socket === 'gpu.sock' ? longer : usual.policyFor(type, name, socket)),
    };
    const before = new FloodWorld(policy);
    before.misbehave({ socket: 'gpu.sock' });
    const world = restarted(before, { downMs: 5_000, policy });
    assert.equal(refusalOf(world.register({ socket: 'gpu.sock' }))?.retryAfterMs, 1_795_000);
  });

  it('are not taken over where the policy only observes', () => {
    const before = new FloodWorld();
    before.misbehave();
    const world = restarted(before, { policy: policySource({ mode: 'observe' }) });
    assert.equal(world.register().kind, 'pass');
  });

  it('hold no path that no socket can have', () => {
    const world = new FloodWorld();
    world.misbehave({ socket: 'x'.repeat(70_000), endpoint: 'x'.repeat(70_000) });
    assert.ok(JSON.stringify(world.gate.snapshot()).length < 2_000);
    assert.equal(world.began[0]?.last?.socket, '');
  });
});

describe('buckets', () => {
  it('stay bounded under 10,000 names, each of which misbehaves a little', () => {
    const world = new FloodWorld(policySource({ maxBuckets: 100 }));
    for (let name = 0; name < 10_000; name += 1) world.register({ name: `vendor.com/p${name}`, uid: 1_000 });
    assert.ok(world.gate.buckets <= 101, `${world.gate.buckets} buckets`);
    const shared = world.gate.limits().find((limit) => limit.limit === 'register' && limit.plugin === '');
    assert.equal(shared?.uid, 1_000);
    assert.equal(shared.permits, 0);
  });

  it('stay bounded under names of 10,000 uids, valid or not', () => {
    const world = new FloodWorld(policySource({ maxBuckets: 100 }));
    for (let uid = 0; uid < 10_000; uid += 1) world.register({ uid, name: `vendor.com/p${uid}` });
    for (let uid = 0; uid < 10_000; uid += 1) world.register({ uid, badName: true });
    assert.ok(world.gate.buckets <= 100 + 514, `${world.gate.buckets} buckets`);
  });

  it('make room by forgetting only those that are full and without strikes', async () => {
    const world = new FloodWorld(policySource({ maxBuckets: 3 }));
    world.misbehave({ name: 'a/quarantined' });
    world.register({ name: 'a/spent' });
    world.register({ name: 'a/idle' });
    await world.clock.advance(2_000);
    for (let call = 0; call < 5; call += 1) world.register({ name: 'a/spent' });
    world.register({ name: 'a/new' });
    const names = world.gate.limits().map((limit) => limit.plugin);
    assert.ok(names.includes('DevicePlugin/a/quarantined') && names.includes('DevicePlugin/a/spent'));
    assert.ok(names.includes('DevicePlugin/a/new') && !names.includes('DevicePlugin/a/idle'));
  });

  it('make no room by forgetting a quarantine or a strike, however full their buckets are', async () => {
    const world = new FloodWorld(policySource({ maxBuckets: 3 }));
    world.misbehave({ name: 'a/quarantined' });
    for (let call = 0; call < 8; call += 1) world.register({ name: 'a/struck' });
    await world.clock.advance(20_000);
    for (let name = 0; name < 50; name += 1) world.register({ name: `flood.com/p${String(name)}` });
    assert.equal(refusalOf(world.register({ name: 'a/quarantined' }))?.code, 'QUARANTINED');
    const struck = world.gate.limits().find((limit) => limit.plugin === 'DevicePlugin/a/struck');
    assert.ok((struck?.strikes ?? 0) > 0);
  });

  it('of plugins of the checkpoint are kept, and made, even if many others came before', async () => {
    const world = new FloodWorld(policySource({ maxBuckets: 5 }));
    const pinned = subjectOf({ name: 'vendor.com/known' });
    world.gate.pin(pinned);
    for (let name = 0; name < 50; name += 1) {
      for (let call = 0; call < 3; call += 1) world.register({ name: `flood.com/p${name}` });
    }
    assert.equal(world.register({ name: 'flood.com/last' }).kind, 'refuse', 'they share one');
    assert.equal(world.register(pinned).kind, 'pass');
    await world.clock.advance(3_600_000);
    for (let name = 0; name < 50; name += 1) world.register({ name: `later.com/p${name}` });
    assert.ok(world.gate.limits().some((limit) => limit.plugin === 'DevicePlugin/vendor.com/known'));
    world.gate.pin(pinned);
    world.gate.unpin(pinned);
    await world.clock.advance(3_600_000);
    for (let name = 0; name < 50; name += 1) world.register({ name: `next.com/p${name}` });
    assert.ok(world.gate.limits().some((limit) => limit.plugin === 'DevicePlugin/vendor.com/known'));
    world.gate.unpin(pinned);
    await world.clock.advance(3_600_000);
    for (let name = 0; name < 50; name += 1) world.register({ name: `last.com/p${name}` });
    assert.ok(!world.gate.limits().some((limit) => limit.plugin === 'DevicePlugin/vendor.com/known'));
  });

  it('are not confused by names like __proto__', () => {
    const world = new FloodWorld();
    for (const name of ['__proto__', 'constructor', 'toString']) assert.equal(world.register({ name }).kind, 'pass');
    assert.equal(world.gate.buckets, 3);
  });
});
