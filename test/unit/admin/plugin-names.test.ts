import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { resolvePlugin, splitPluginKey } from '../../../src/admin/plugin-names.js';
import { pluginKey } from '../../../src/model/ids.js';

const known = [
  { type: 'DevicePlugin', name: 'example.com/gpu' },
  { type: 'DevicePlugin', name: 'example.com/gpu' },
  { type: 'CSIPlugin', name: 'disk.example.com' },
  { type: 'DRAPlugin', name: 'disk.example.com' },
];

describe('resolvePlugin', () => {
  const rows = [
    { given: 'example.com/gpu', type: '', then: 'DevicePlugin/example.com/gpu' },
    { given: 'DevicePlugin/example.com/gpu', type: '', then: 'DevicePlugin/example.com/gpu' },
    { given: 'disk.example.com', type: 'CSIPlugin', then: 'CSIPlugin/disk.example.com' },
    { given: 'DRAPlugin/disk.example.com', type: '', then: 'DRAPlugin/disk.example.com' },
    { given: 'disk.example.com', type: '', then: 'INVALID_ARGUMENT' },
    { given: 'example.com/gpu', type: 'CSIPlugin', then: 'NOT_FOUND' },
    { given: '', type: '', then: 'INVALID_ARGUMENT' },
    { given: 'example.com/gpa', type: '', then: 'NOT_FOUND' },
  ];
  for (const { given, type, then } of rows) {
    it(`makes ${then} of ${given === '' ? 'nothing' : given}${type === '' ? '' : ` with --type ${type}`}`, () => {
      const found = resolvePlugin(given, type, known);
      assert.equal(found.ok ? pluginKey(found.value) : found.problem.code, then);
    });
  }

  it('names the types where a name is not unique', () => {
    const found = resolvePlugin('disk.example.com', '', known);
    assert.ok(!found.ok);
    assert.equal(
      found.problem.message,
      'disk.example.com is the name of CSIPlugin and DRAPlugin; say which with --type',
    );
  });

  it('proposes near names for an unknown one', () => {
    const found = resolvePlugin('example.com/gpa', '', known);
    assert.ok(!found.ok);
    assert.equal(found.problem.message, 'no plugin is called example.com/gpa; did you mean example.com/gpu?');
  });

  it('says so when there is no plugin at all', () => {
    const found = resolvePlugin('x', '', []);
    assert.ok(!found.ok);
    assert.equal(found.problem.message, 'no plugin is called x; there is no plugin at all');
  });
});

describe('splitPluginKey', () => {
  it('takes apart what pluginKey put together', () => {
    const type = fc.string().filter((text) => !text.includes('/'));
    fc.assert(
      fc.property(type, fc.string(), (type, name) => {
        assert.deepEqual(splitPluginKey(pluginKey({ type, name })), { type, name });
      }),
    );
  });
});
