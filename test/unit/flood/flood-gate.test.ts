import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PolicySource } from '../../../src/model/settings.js';
import {
  delayOf,
  FLOOD,
  FloodWorld,
  openPacer,
  policySource,
  processOf,
  refusalOf,
  subjectOf,
} from '../../support/flood-world.js';

const kinds = (world: FloodWorld, calls: number, over = {}): string[] =>
  Array.from({ length: calls }, () => world.register(over).kind);

describe('the flood gate at the Register door', () => {
  it('lets a burst pass, and holds a call whose turn comes soon', async () => {
    const world = new FloodWorld();
    assert.deepEqual(kinds(world, 5), ['pass', 'pass', 'pass', 'pass', 'pass']);
    await world.clock.advance(1_200);
    assert.equal(delayOf(world.register()), 800);
    assert.equal(world.counts.get('register delay'), 1);
  });

  it('gives each held call a turn of its own', async () => {
    const register = { burst: 1, intervalMs: 300, onExceed: 'delay', maxDelayMs: 1_000 } as const;
    const world = new FloodWorld(policySource({ register }));
    const verdicts = Array.from({ length: 5 }, () => world.register());
    assert.deepEqual(
      verdicts.map((verdict) => delayOf(verdict) ?? verdict.kind),
      ['pass', 300, 600, 900, 'refuse'],
    );
    await world.clock.advance(900);
    assert.equal(world.register().kind, 'delay', 'none of the turns was jumped');
  });

  it('refuses at once what would wait too long, and says for how long', () => {
    const world = new FloodWorld();
    kinds(world, 5);
    const refusal = refusalOf(world.register());
    assert.deepEqual(refusal, {
      code: 'FLOOD_REGISTER',
      message:
        'DevicePlugin vendor.com/gpu registers more often than flood.register allows (burst 5, then one each 2 s); try again in 2 s',
      retryAfterMs: 2_000,
    });
    assert.equal(world.counts.get('register reject'), 1);
  });

  for (const [onExceed, disconnect] of [
    ['reject', undefined],
    ['disconnect', true],
  ] as const) {
    it(`holds nobody where the policy says ${onExceed}`, async () => {
      const world = new FloodWorld(policySource({ register: { ...FLOOD.register, onExceed } }));
      kinds(world, 5);
      await world.clock.advance(1_900);
      const refusal = refusalOf(world.register());
      assert.equal(refusal?.retryAfterMs, 100);
      assert.equal(refusal.disconnect, disconnect);
      assert.equal(world.counts.get(`register ${onExceed}`), 1);
    });
  }

  it('never touches a plugin that restarts every 10 s', async () => {
    const world = new FloodWorld();
    for (let restart = 0; restart < 360; restart += 1) {
      assert.equal(world.register({ socket: `gpu-${restart}.sock`, caller: processOf(restart + 1) }).kind, 'pass');
      await world.clock.advance(10_000);
    }
    assert.deepEqual(world.events.all, []);
  });

  it('keeps plugins apart, and the uids that call for one', () => {
    const world = new FloodWorld();
    kinds(world, 5);
    assert.equal(world.register().kind, 'refuse');
    assert.equal(world.register({ name: 'vendor.com/nic' }).kind, 'pass');
    assert.equal(world.register({ uid: 1_000 }).kind, 'pass');
    assert.equal(
      world.register({ socket: 'other.sock', caller: processOf(77) }).kind,
      'refuse',
      'a path or a pid is nothing',
    );
  });

  it('lets 100 plugins register again in one second, none later than at once', () => {
    const world = new FloodWorld();
    for (let plugin = 0; plugin < 100; plugin += 1) {
      assert.equal(world.register({ name: `vendor.com/p${plugin}` }).kind, 'pass');
    }
  });

  it('lets the flood of one plugin cost the others nothing of what they share', async () => {
    const world = new FloodWorld();
    for (let call = 0; call < 20_000; call += 1) {
      world.register();
      if (call % 1_000 === 0) await world.clock.advance(1_000);
      if (call % 2_000 === 0) assert.equal(world.register({ name: 'vendor.com/bystander' }).kind, 'pass');
    }
    const global = world.gate.limits().find((limit) => limit.limit === 'global.register');
    assert.ok((global?.permits ?? 0) >= 999, 'a call that its own limit refuses does not reach the limit of all');
    assert.equal(global?.exceeded, 0);
  });

  it('counts all plugins together against the global limit, and gives nobody a strike for it', () => {
    const world = new FloodWorld(
      policySource({ globalRegister: { ...FLOOD.globalRegister, burst: 3, intervalMs: 500 } }),
    );
    const names = Array.from({ length: 8 }, (_, index) => `vendor.com/p${index}`);
    const verdicts = names.map((name) => world.register({ name }));
    assert.deepEqual(
      verdicts.map((verdict) => delayOf(verdict) ?? verdict.kind),
      ['pass', 'pass', 'pass', 500, 1_000, 'refuse', 'refuse', 'refuse'],
    );
    const refusal = refusalOf(verdicts[7] ?? { kind: 'pass' });
    assert.equal(refusal?.code, 'FLOOD_GLOBAL');
    assert.match(
      refusal.message,
      /^DevicePlugin vendor\.com\/p7: all plugins together register more often than flood\.global\.register allows .*; try again in /,
    );
    assert.equal(
      world.gate.limits().reduce((sum, limit) => sum + limit.strikes, 0),
      0,
    );
  });

  it('asks the limit of all when the turn of its own has come: a call that waits for that takes nothing from others', async () => {
    const world = new FloodWorld(
      policySource({ globalRegister: { ...FLOOD.globalRegister, burst: 6, intervalMs: 450 } }),
    );
    kinds(world, 5);
    await world.clock.advance(1_200);
    const held = world.register();
    assert.ok(held.kind === 'delay' && held.delayMs === 800);
    for (const name of ['a/b', 'a/c', 'a/d']) assert.equal(world.register({ name }).kind, 'pass');
    const ended = held.wait(new AbortController().signal);
    await world.clock.advance(600);
    for (const name of ['a/e', 'a/f']) assert.equal(world.register({ name }).kind, 'pass', 'the permits are there');
    await world.clock.advance(200);
    const next = await ended;
    assert.ok(next.kind === 'delay', 'now it stands in the line of all');
    const last = next.wait(new AbortController().signal);
    await world.clock.advance(450);
    assert.deepEqual(await last, { kind: 'pass' });
  });

  it('lets everything pass where the mode is observe, and says what it would have done', () => {
    const world = new FloodWorld(policySource({ mode: 'observe' }));
    assert.ok(kinds(world, 100).every((kind) => kind === 'pass'));
    assert.equal(world.counts.get('register observe'), 95);
    const [first] = world.events.messages('flood');
    assert.match(first ?? '', /allows \(burst 5, then one each 2 s\); it may pass, because the mode is observe$/);
    const [quarantine, ...repeated] = world.events.messages('quarantine');
    assert.deepEqual(repeated, [], 'once for as long as it would have lasted');
    assert.match(
      quarantine ?? '',
      /would be kept out for 60 s after 10 strikes within 60 s, if flood\.mode were enforce$/,
    );
    assert.deepEqual([world.began.length, world.gate.quarantines, world.gate.snapshot().length], [0, 0, 0]);
  });

  it('enforces a rule while the rest is only observed', () => {
    const world = new FloodWorld(policySource({ mode: 'observe' }, new Map([['vendor.com/gpu', { mode: 'enforce' }]])));
    assert.equal(kinds(world, 6).at(-1), 'refuse');
    assert.equal(kinds(world, 6, { name: 'vendor.com/nic' }).at(-1), 'pass');
    const refusal = refusalOf(world.register());
    assert.match(refusal?.message ?? '', /than rules\[0\]\.flood\.register allows/);
  });

  it('counts all invalid names of a uid as one', () => {
    const world = new FloodWorld();
    const verdicts = Array.from({ length: 8 }, (_, index) => world.register({ name: `no ${index}`, badName: true }));
    assert.equal(verdicts.filter((verdict) => verdict.kind === 'pass').length, 5);
    assert.match(
      refusalOf(verdicts[7] ?? { kind: 'pass' })?.message ?? '',
      /^plugins with invalid names of uid 0 register/,
    );
    assert.equal(world.register({ name: 'no', badName: true, uid: 5 }).kind, 'pass');
    assert.equal(world.register().kind, 'pass');
    assert.equal(world.gate.buckets, 3);
  });

  it('does not count a pull: nobody called', () => {
    const world = new FloodWorld();
    assert.ok(kinds(world, 50, { pulled: true }).every((kind) => kind === 'pass'));
    assert.equal(kinds(world, 5).at(-1), 'pass');
  });

  it('tells refusals to nobody but the caller, so that they are told once', () => {
    const world = new FloodWorld(policySource({ register: { ...FLOOD.register, onExceed: 'reject' } }));
    kinds(world, 8);
    assert.deepEqual(world.events.messages('flood'), []);
  });
});

describe('the flood gate at the watcher door', () => {
  for (const onExceed of ['delay', 'reject', 'disconnect'] as const) {
    it(`waits for the turn, however far it is, where the policy says ${onExceed}`, () => {
      const world = new FloodWorld(policySource({ register: { ...FLOOD.register, onExceed } }));
      const verdicts = Array.from({ length: 8 }, () => world.register({ door: 'watcher' }));
      assert.deepEqual(
        verdicts.slice(5).map((verdict) => (verdict.kind === 'delay' ? verdict.delayMs : verdict.kind)),
        [2_000, 4_000, 6_000],
      );
    });
  }

  it('keeps a plugin out whose sockets come and go too fast, as at the other door', () => {
    const world = new FloodWorld();
    world.misbehave({ door: 'watcher' });
    assert.equal(world.began.length, 1);
  });
});

describe('the flood gate under a reload', () => {
  it('goes on with the permits it has, for registrations, for all together and for lists', () => {
    const world = new FloodWorld();
    kinds(world, 5);
    const pacer = openPacer(world);
    while (pacer.tryTake());
    world.gate.reload(
      policySource({ register: { ...FLOOD.register, burst: 50 }, updates: { ...FLOOD.updates, burst: 90 } }),
    );
    assert.equal(world.register().kind, 'refuse');
    assert.ok(!pacer.tryTake());
    const global = world.gate.limits().find((limit) => limit.limit === 'global.register');
    assert.equal(global?.permits, 995);
  });

  it('brings new settings to each limit', () => {
    const world = new FloodWorld(policySource({ connections: { ...FLOOD.connections, burst: 1 } }));
    kinds(world, 1);
    openPacer(world).tryTake();
    for (let call = 0; call < 2; call += 1) world.gate.connections.admit(processOf(7, 1_000));
    world.gate.allocations.ask(7);
    const limits = ['register', 'updates', 'connections', 'allocate', 'globalRegister'] as const;
    const settings = limits.map((limit, at) => [limit, { ...FLOOD[limit], burst: 2000 + at, intervalMs: 9 }]);
    world.gate.reload(policySource(Object.fromEntries(settings) as Partial<typeof FLOOD>));
    const now = world.gate.limits().map(({ limit, burst, intervalMs }) => [limit, burst, intervalMs]);
    assert.deepEqual(
      now.sort(),
      limits.map((limit, at) => [limit === 'globalRegister' ? 'global.register' : limit, 2000 + at, 9]).sort(),
    );
  });

  it('takes a new mode at its word: calls that were only observed are not punished later', () => {
    const world = new FloodWorld(policySource({ mode: 'observe' }));
    kinds(world, 14);
    world.gate.reload(policySource());
    assert.equal(world.gate.limits().find((limit) => limit.limit === 'register')?.strikes, 0);
    assert.equal(refusalOf(world.register())?.code, 'FLOOD_REGISTER');
  });

  it('keeps a plugin in quarantine that names, while it is out, a socket whose rule only observes', () => {
    const observed = policySource({ mode: 'observe' }).policyFor('', '', '');
    const enforced = policySource();
    const bySocket = (): PolicySource => ({
      ...enforced,
      policyFor: (type, name, socket) =>
        socket.startsWith('trial-') ? observed : enforced.policyFor(type, name, socket),
    });
    const world = new FloodWorld(bySocket());
    world.misbehave();
    const trial = { socket: 'trial-1.sock', endpoint: 'trial-1.sock' };
    const stays = (after: string): void => {
      world.gate.reload(bySocket());
      assert.deepEqual([world.ended.length, world.gate.quarantines], [0, 1], after);
      assert.equal(refusalOf(world.register())?.code, 'QUARANTINED', after);
    };
    world.register(trial);
    stays('a call');
    assert.equal(refusalOf(world.gate.registration(subjectOf(trial)))?.code, 'QUARANTINED');
    stays('a call that has waited');
    world.register({ ...trial, pulled: true, caller: processOf(2) });
    stays('a pull of a process that never offended');
    world.register(trial);
    const restarted = new FloodWorld(bySocket(), world.clock);
    restarted.gate.restore(JSON.parse(JSON.stringify(world.gate.snapshot())) as unknown[], true);
    assert.equal(restarted.gate.quarantines, 1, 'a restart');
    world.gate.pardon('DevicePlugin', 'vendor.com/gpu');
    assert.equal(world.ended[0]?.last?.endpoint, 'trial-1.sock', 'the endpoint that was named last is pulled');
    restarted.gate.close();
    world.gate.close();
  });

  it('ends a quarantine whose rule does not enforce any more, and calls the plugin back', () => {
    const world = new FloodWorld();
    world.misbehave();
    world.gate.reload(policySource({ mode: 'observe' }));
    assert.equal(world.ended.length, 1);
    assert.equal(world.gate.quarantines, 0);
    assert.equal(world.register().kind, 'pass');
    assert.equal(world.clock.pending, 0);
  });
});
