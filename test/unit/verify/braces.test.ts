import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bracesFor, fillIn, findUnknown } from '../../../src/verify/braces.js';

describe('names in braces', () => {
  it('become the directories of the rig', () => {
    const braces = bracesFor({ kubelet: '/tmp/v-1/k' }, false);
    assert.equal(
      fillIn('--dir={devicePlugins} --sock={kubeletSocket} {registry}:{plugins}', braces),
      '--dir=/tmp/v-1/k/device-plugins --sock=/tmp/v-1/k/device-plugins/kubelet.sock /tmp/v-1/k/plugins_registry:/tmp/v-1/k/plugins',
    );
  });

  it('become the built-in directories for a plugin that is bound', () => {
    assert.equal(
      fillIn('{kubeletSocket}', bracesFor({ kubelet: '/tmp/v-1/k' }, true)),
      '/var/lib/kubelet/device-plugins/kubelet.sock',
    );
  });

  it('leave other braces alone', () => {
    const braces = bracesFor({ kubelet: '/k' }, false);
    assert.equal(fillIn('{"a": {pid}} {__proto__} ${HOME}', braces), '{"a": {pid}} {__proto__} ${HOME}');
  });
});

describe('a name in braces that is none', () => {
  it('is an error that names those there are, before anything is started', () => {
    assert.equal(
      findUnknown(['./plugin', '--dir', '{devicePlugin}']),
      '{devicePlugin} in the command stands for nothing: there are {devicePlugins}, {registry}, {plugins}, {kubeletSocket}',
    );
  });

  it('is not seen in what belongs to other programs', () => {
    for (const text of ['{}', '${HOME}', '{"a": 1}', 'sim-{pid}.sock', '{devicePlugins}/x', 'a{1,2}']) {
      assert.equal(findUnknown([text]), undefined, text);
    }
  });
});
