import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { RulePolicy } from '../../../src/config/policy.js';
import { resolveSettings } from '../../../src/config/resolve.js';
import { compileGlob } from '../../../src/platform/config/globs.js';
import type { CompileGlob } from '../../../src/config/ports.js';
import type { RuleForm } from '../../../src/config/file-form.js';
import { formWith, somewhere } from '../../support/config.js';

function policyWith(
  rules: readonly RuleForm[],
  compile: CompileGlob = compileGlob,
  shippedRules: 'on' | 'off' = 'off',
): RulePolicy {
  const form = formWith({ rules });
  const { settings } = resolveSettings(form, '/r', somewhere);
  assert.ok(settings);
  return new RulePolicy(
    { flood: settings.flood, floodForm: form.flood, rules, shippedRules, grace: settings.grace },
    compile,
  );
}
const SOCKET = '/r/device-plugins/x.sock';

describe('the policy of a plugin', () => {
  it('is the defaults where no rule matches, with the grace of its type', () => {
    const policy = policyWith([]);
    const of = (type: string) => policy.policyFor(type, 'a.b/c', SOCKET);
    assert.deepEqual(
      [of('DevicePlugin').graceMs, of('CSIPlugin').graceMs, of('DRAPlugin').graceMs],
      [30_000, 0, 30_000],
    );
    const { rules, duplicates, reattach, uids } = of('DevicePlugin');
    assert.deepEqual(
      { rules, duplicates, reattach, uids },
      {
        rules: [],
        duplicates: 'newest',
        reattach: 'stream',
        uids: undefined,
      },
    );
    assert.equal(of('DevicePlugin').flood, policy.flood);
  });

  it('has the grace that the configuration gives to its type, and to no other', () => {
    const form = formWith({ grace: { device: '1ms', csi: '2ms', dra: '3ms' } });
    const { settings } = resolveSettings(form, '/r', somewhere);
    assert.ok(settings);
    const { flood, grace } = settings;
    const policy = new RulePolicy({ flood, floodForm: form.flood, rules: [], shippedRules: 'off', grace }, compileGlob);
    const graces = ['DevicePlugin', 'CSIPlugin', 'DRAPlugin'].map(
      (type) => policy.policyFor(type, 'a.b/c', SOCKET).graceMs,
    );
    assert.deepEqual(graces, [1, 2, 3]);
  });

  it('is, for each key, that of the first rule whose globs all match and that says it', () => {
    const policy = policyWith([
      { match: { type: 'CSIPlugin', name: 'a.b/*' }, grace: '1s' },
      { match: { name: 'a.b/*', socket: '*.other' }, grace: '2s' },
      { name: 'mine', match: { name: 'a.b/*', socket: 'x.sock' }, uids: [7], allocate: { max: 2 } },
      { match: { name: '*' }, reattach: 'probe', uids: [8], allocate: { max: 9, uids: [9] } },
    ]);
    const found = policy.policyFor('DevicePlugin', 'a.b/c', SOCKET);
    assert.deepEqual(found.rules, ['mine', 'rules[3]']);
    assert.deepEqual([found.uids, found.reattach, found.graceMs], [[7], 'probe', 30_000]);
    assert.deepEqual([found.allocate.max, found.allocate.uids], [2, [9]]);
    assert.equal(found.floodSource, 'flood', 'the rules say nothing about floods');
    assert.deepEqual(policy.policyFor('DevicePlugin', 'z.b/c', SOCKET).rules, ['rules[3]']);
    assert.equal(policy.policyFor('CSIPlugin', 'a.b/c', SOCKET).graceMs, 1000);
  });

  it('has what the shipped rules say after the own ones, unless they are off', () => {
    const own: readonly RuleForm[] = [
      { match: { name: 'nvidia.com/*' }, grace: '1m', flood: { register: { burst: 9 } } },
    ];
    const { rules, reattach, graceMs, flood } = policyWith(own, compileGlob, 'on').policyFor(
      'DevicePlugin',
      'nvidia.com/gpu',
      SOCKET,
    );
    assert.deepEqual(
      [rules, reattach, graceMs, flood.register.burst],
      [['rules[0]', 'shipped nvidia'], 'probe', 60_000, 9],
    );
    assert.equal(policyWith(own).policyFor('DevicePlugin', 'nvidia.com/gpu', SOCKET).reattach, 'stream');
    const overruled = policyWith([{ match: { name: 'nvidia.com/*' }, reattach: 'stream' }], compileGlob, 'on');
    assert.equal(overruled.policyFor('DevicePlugin', 'nvidia.com/gpu', SOCKET).reattach, 'stream');
  });

  it('takes each figure of the flood policy from the first rule that names it, and is called by the first of them', () => {
    const policy = policyWith([
      { match: { name: 'a.b/c' }, flood: { register: { burst: 3 }, penalty: { strikes: 4 } } },
      { name: 'all', match: { name: '*' }, flood: { register: { burst: 50, interval: '20s' }, penalty: 'off' } },
      { match: { name: '*' }, flood: { penalty: { strikes: 99 }, mode: 'observe' } },
    ]);
    const { flood, floodSource } = policy.policyFor('DevicePlugin', 'a.b/c', SOCKET);
    assert.deepEqual([flood.register.burst, flood.register.intervalMs, flood.mode], [3, 20_000, 'observe']);
    assert.deepEqual([flood.penalty.strikes, floodSource], [4, 'rules[0].flood']);
    const other = policy.policyFor('DevicePlugin', 'a.b/d', SOCKET);
    assert.deepEqual([other.flood.register.burst, other.flood.penalty.strikes, other.floodSource], [50, 0, 'all']);
  });

  it('has no quarantine where penalty is off, for all or for one, and a rule can give figures back', () => {
    const strikesOf = (form: ReturnType<typeof formWith>): number[] => {
      const { settings } = resolveSettings(form, '/r', somewhere);
      assert.ok(settings);
      const { flood, grace } = settings;
      const policy = new RulePolicy(
        { flood, floodForm: form.flood, rules: form.rules, shippedRules: 'off', grace },
        compileGlob,
      );
      const of = (name: string): number => policy.policyFor('DevicePlugin', name, SOCKET).flood.penalty.strikes;
      return [of('a.b/quiet'), of('a.b/loud'), of('a.b/other')];
    };
    const rules: readonly RuleForm[] = [
      { match: { name: 'a.b/quiet' }, flood: { penalty: 'off' } },
      { match: { name: 'a.b/loud' }, flood: { penalty: { strikes: 3 } } },
    ];
    const { flood } = formWith({ rules });
    assert.deepEqual(strikesOf(formWith({ rules })), [0, 3, 10]);
    assert.deepEqual(strikesOf(formWith({ rules, flood: { ...flood, penalty: 'off' } })), [0, 3, 0]);
  });

  it('changes only those figures of the flood policy that its rule names', () => {
    const policy = policyWith([
      { match: { name: '*' }, flood: { mode: 'observe', register: { burst: 50 }, penalty: { strikes: 3 } } },
    ]);
    const { flood, floodSource } = policy.policyFor('DevicePlugin', 'a.b/c', SOCKET);
    assert.equal(floodSource, 'rules[0].flood');
    assert.equal(flood.mode, 'observe');
    assert.deepEqual(flood.register, { burst: 50, intervalMs: 2000, onExceed: 'delay', maxDelayMs: 1000 });
    assert.deepEqual(flood.penalty, { ...policy.flood.penalty, strikes: 3 });
    assert.deepEqual(flood.updates, policy.flood.updates);
  });

  it('is worked out once for a plugin, and globs are compiled once', () => {
    let compiled = 0;
    const counting: CompileGlob = (pattern, kind) => (compiled++, compileGlob(pattern, kind));
    const policy = policyWith([{ match: { name: 'a.b/*' } }], counting);
    assert.equal(compiled, 0);
    const first = policy.policyFor('DevicePlugin', 'a.b/c', SOCKET);
    assert.equal(policy.policyFor('DevicePlugin', 'a.b/c', SOCKET), first);
    policy.policyFor('DevicePlugin', 'a.b/d', SOCKET);
    assert.equal(compiled, 1);
  });

  it('stays right after more plugins than are remembered, under any names', () => {
    const policy = policyWith([{ match: { name: '__proto__' }, grace: '7s' }]);
    for (let index = 0; index < 10_000; index++) policy.policyFor('DevicePlugin', `a.b/${index}`, SOCKET);
    assert.equal(policy.policyFor('DevicePlugin', '__proto__', SOCKET).graceMs, 7000);
    assert.equal(policy.policyFor('DevicePlugin', 'a.b/1', SOCKET).rules.length, 0);
  });
});

describe('globs', () => {
  const name = (pattern: string, text: string) => compileGlob(pattern, 'name')(text);
  const socket = (pattern: string, text: string) => compileGlob(pattern, 'socket')(text);

  it('of names: a star matches slashes and leading dots too', () => {
    assert.ok(name('*', 'a.b/c') && name('nvidia.com/*', 'nvidia.com/gpu') && name('*gpu*', 'nvidia.com/gpu'));
    assert.ok(name('{a,b}.intel.com/*', 'b.intel.com/x') && name('*', '.hidden'));
    assert.ok(!name('nvidia.com/*', 'nvidia.com.evil/gpu') && !name('gpu', 'nvidia.com/gpu'));
  });

  it('of sockets: without a slash the file name is compared, with one the whole path', () => {
    assert.ok(socket('kubevirt-*.sock', '/a/b/kubevirt-kvm.sock') && !socket('kubevirt-*.sock', '/a/kubevirt-/b.sock'));
    assert.ok(socket('**/device-plugins/{x,y}_*', '/r/device-plugins/y_1.sock') && !socket('/a/*.sock', '/a/b/c.sock'));
  });
});

describe('the shipped rules', () => {
  const policy = policyWith([], compileGlob, 'on');
  const reattachOf = (resource: string, file: string, folder = 'device-plugins') =>
    policy.policyFor('DevicePlugin', resource, `/r/${folder}/${file}`).reattach;

  it('know which plugins bear no second ListAndWatch', () => {
    assert.equal(reattachOf('devices.kubevirt.io/kvm', 'kubevirt-kvm.sock'), 'recycle');
    assert.equal(reattachOf('nvidia.com/TU104GL', 'kubevirt-TU104GL.sock'), 'recycle');
    assert.equal(reattachOf('gpu.intel.com/i915', 'gpu.intel.com-i915.sock'), 'recycle');
    assert.equal(reattachOf('squat.ai/video', 'gdp-c3F1YXQ=-1700000000.sock'), 'recycle');
    assert.equal(reattachOf('openshift.io/mlx', 'openshift.io_mlx.sock'), 'recycle');
    assert.equal(reattachOf('nvidia.com/mlx', 'nvidia.com_mlx.sock'), 'recycle');
    assert.equal(reattachOf('nvidia.com/gpu', 'nvidia-gpu.sock'), 'probe');
  });

  it('leave everybody else, and SR-IOV at the watcher door, with the stream', () => {
    assert.equal(reattachOf('amd.com/gpu', 'amd.com_gpu'), 'stream');
    assert.equal(reattachOf('openshift.io/mlx', 'openshift.io_mlx.sock', 'plugins_registry'), 'stream');
  });
});
