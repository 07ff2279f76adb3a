import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigForm, RuleForm } from '../../../src/config/file-form.js';
import { pathText } from '../../../src/config/problem.js';
import { resolveSettings } from '../../../src/config/resolve.js';
import { configWarnings } from '../../../src/config/warnings.js';
import { parseYaml } from '../../../src/platform/config/yaml-file.js';
import { compileGlob } from '../../../src/platform/config/globs.js';
import { formWith, somewhere } from '../../support/config.js';

function warningsOf(changes: Partial<ConfigForm>): readonly string[] {
  const form = formWith(changes);
  const { settings } = resolveSettings(form, '/r', somewhere);
  assert.ok(settings);
  return configWarnings(form, settings.paths, compileGlob).map(({ path, message }) => `${pathText(path)}: ${message}`);
}
const ofRules = (...rules: readonly RuleForm[]): readonly string[] => warningsOf({ rules });

describe('a configuration', () => {
  it('has nothing to warn of as it is shipped', () => {
    assert.deepEqual(warningsOf({}), []);
  });

  for (const [what, rule, key] of [
    ['a type that is like none', { match: { type: 'Device*s' }, grace: '1s' }, 'match.type'],
    ['a resource without a domain', { match: { type: 'DevicePlugin', name: 'gpu' }, grace: '1s' }, 'match.name'],
    ['a name with a space', { match: { name: 'a.b/c d' }, grace: '1s' }, 'match.name'],
    ['a socket in a directory that is not watched', { match: { socket: '/tmp/*.sock' }, grace: '1s' }, 'match.socket'],
  ] as const) {
    it(`is warned of a glob that can match nothing: ${what}`, () => {
      const [warning = '', ...more] = ofRules(rule);
      assert.deepEqual(more, []);
      assert.ok(warning.startsWith(`rules[0].${key}: it can match nothing: `), warning);
    });
  }

  it('is not warned of globs that can match', () => {
    const matches = [
      { name: 'gpu*' },
      { type: 'CSIPlugin', name: 'csi.example.com' },
      { type: '*Plugin', name: '*' },
      { socket: '/r/device-plugins/x-*.sock' },
      { socket: '**/plugins_registry/*' },
      { socket: '/r/**/x.sock' },
      { socket: 'x.sock' },
    ];
    assert.deepEqual(ofRules(...matches.map((match) => ({ match, grace: '1s' }))), []);
  });

  it('is warned of devices that a type of plugin does not have', () => {
    const message = 'rules[0].allocate: it has no effect: only plugins of type DevicePlugin have devices';
    assert.deepEqual(ofRules({ match: { type: 'CSI*' }, allocate: { max: 1 } }), [message]);
    assert.deepEqual(ofRules({ match: { socket: 'x.sock' }, allocate: { max: 1 } }), []);
  });

  it('is warned of keys and rules without effect', () => {
    const reject = { register: { onExceed: 'reject', maxDelay: '5s' } } as const;
    assert.deepEqual(ofRules({ match: { name: 'a.b/*' }, flood: reject }), [
      'rules[0].flood.register.maxDelay: 5s has no effect with onExceed: reject, which holds no call',
    ]);
    const { flood } = formWith({});
    const all = { ...flood, register: { ...flood.register, onExceed: 'disconnect', maxDelay: '2s' } } as const;
    assert.deepEqual(warningsOf({ flood: all }), [
      'flood.register.maxDelay: 2s has no effect with onExceed: disconnect, which holds no call',
    ]);
    assert.deepEqual(ofRules({ name: 'x', match: { name: '*' } }), [
      'rules[0]: it names plugins and sets nothing for them',
    ]);
    const twice = { match: { name: 'a.b/*' }, grace: '1s' };
    assert.deepEqual(ofRules({ ...twice, uids: [1] }, { ...twice, grace: '2s' }, { ...twice, duplicates: 'reject' }), [
      'rules[1]: it has no effect, because rules[0] matches the same and says all that it says',
    ]);
  });

  it('is warned of shipped rules that it loses', () => {
    const [warning = ''] = warningsOf({ shippedRules: 'off' });
    assert.match(warning, /^shippedRules: plugins that do not bear a second ListAndWatch lose their rules: kubevirt, /);
  });
});

describe('a file', () => {
  it('may say the same for several rules with YAML merge keys', async () => {
    const read = await parseYaml(`rules:
  - &strict
    match: { name: a.b/* }
    flood: { register: { burst: 3 } }
  - { <<: *strict, match: { name: c.d/* } }
`);
    assert.ok('form' in read, JSON.stringify(read));
    assert.deepEqual(read.form.rules[1], { match: { name: 'c.d/*' }, flood: { register: { burst: 3 } } });
  });

  it('gives each rule a name of its own, and none that of the limits without a rule', () => {
    const rule = { match: { name: '*' }, grace: '1s' };
    const rules = [{ ...rule, name: 'x' }, { ...rule, name: 'x' }, { ...rule, name: 'flood' }, rule, rule];
    const { problems } = resolveSettings(formWith({ rules }), '/r', somewhere);
    assert.deepEqual(
      problems.map(({ path }) => pathText(path)),
      ['rules[1].name', 'rules[2].name'],
    );
  });
});
