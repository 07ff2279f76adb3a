import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { RulePolicy } from '../../../src/config/policy.js';
import { resolveSettings } from '../../../src/config/resolve.js';
import { compileGlob } from '../../../src/platform/config/globs.js';
import type { CompileGlob } from '../../../src/config/ports.js';
import type { RuleForm } from '../../../src/config/file-form.js';
import { formWith, somewhere } from '../../support/config.js';

function policyWith(rules: readonly RuleForm[], compile: CompileGlob = compileGlob): RulePolicy {
  const form = formWith({ rules });
  const { settings } = resolveSettings(form, '/r', somewhere);
  assert.ok(settings);
  return new RulePolicy({ flood: settings.flood, floodForm: form.flood, rules, grace: settings.grace }, compile);
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
    const { rule, duplicates, reattach, uids } = of('DevicePlugin');
    assert.deepEqual(
      { rule, duplicates, reattach, uids },
      {
        rule: undefined,
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
    const policy = new RulePolicy({ flood, floodForm: form.flood, rules: [], grace }, compileGlob);
    const graces = ['DevicePlugin', 'CSIPlugin', 'DRAPlugin'].map(
      (type) => policy.policyFor(type, 'a.b/c', SOCKET).graceMs,
    );
    assert.deepEqual(graces, [1, 2, 3]);
  });

  it('is that of the first rule whose globs all match, and later rules add nothing', () => {
    const policy = policyWith([
      { match: { type: 'CSIPlugin', name: 'a.b/*' }, grace: '1s' },
      { match: { name: 'a.b/*', socket: '*.other' }, grace: '2s' },
      { match: { name: 'a.b/*', socket: 'x.sock' }, uids: [7] },
      { match: { name: '*' }, reattach: 'probe' },
    ]);
    const found = policy.policyFor('DevicePlugin', 'a.b/c', SOCKET);
    assert.deepEqual([found.rule, found.uids, found.reattach, found.graceMs], [2, [7], 'stream', 30_000]);
    assert.equal(found.floodSource, 'flood', 'the rule says nothing about floods');
    assert.equal(policy.policyFor('DevicePlugin', 'z.b/c', SOCKET).rule, 3);
    assert.equal(policy.policyFor('CSIPlugin', 'a.b/c', SOCKET).graceMs, 1000);
  });

  it('has no quarantine where penalty is off, for all or for one, and a rule can give figures back', () => {
    const strikesOf = (form: ReturnType<typeof formWith>): number[] => {
      const { settings } = resolveSettings(form, '/r', somewhere);
      assert.ok(settings);
      const { flood, grace } = settings;
      const policy = new RulePolicy({ flood, floodForm: form.flood, rules: form.rules, grace }, compileGlob);
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

  it('stays right after more plugins than are remembered, whatever they call themselves', () => {
    const policy = policyWith([{ match: { name: '__proto__' }, grace: '7s' }]);
    for (let index = 0; index < 10_000; index++) policy.policyFor('DevicePlugin', `a.b/${index}`, SOCKET);
    assert.equal(policy.policyFor('DevicePlugin', '__proto__', SOCKET).graceMs, 7000);
    assert.equal(policy.policyFor('DevicePlugin', 'a.b/1', SOCKET).rule, undefined);
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
  const policy = policyWith(formWith().rules);
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
