import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResourceRules } from '../../../src/allocation/resource-rules.js';
import { knownInstance } from '../../support/known-instance.js';
import { loadDefaults } from '../../support/test-settings.js';

describe('the rule for a resource', () => {
  const asked: string[] = [];
  const plain = loadDefaults('/r').policyFor('DevicePlugin', 'example.com/x', '');
  const rules = new ResourceRules(
    {
      of: (name) =>
        name === 'example.com/x' ? { instance: knownInstance({ socketPath: '/d/a' }), list: undefined } : undefined,
    },
    {
      policyFor: (...about) => {
        asked.push(about.join(' '));
        return { ...plain, uids: [7] };
      },
      consumerOf: (...about) => {
        asked.push(about.join(' '));
        return 'kubelet';
      },
    },
  );

  it('goes by the socket of the plugin that speaks for it', () => {
    assert.deepEqual(rules.uidsOf('example.com/x'), [7]);
    assert.equal(rules.allocateOf('example.com/x'), plain.allocate);
    assert.equal(rules.consumerOf('example.com/x'), 'kubelet');
    assert.deepEqual(new Set(asked), new Set(['DevicePlugin example.com/x /d/a']));
  });

  it('goes by no socket while no plugin speaks for it', () => {
    asked.length = 0;
    rules.allocateOf('example.com/y');
    assert.deepEqual(asked, ['DevicePlugin example.com/y ']);
  });
});
