import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blanksFor, fillIn } from '../../../src/verify/blanks.js';

describe('names in braces', () => {
  it('become the directories of the rig', () => {
    const blanks = blanksFor({ kubelet: '/tmp/v-1/k' }, false);
    assert.equal(
      fillIn('--dir={devicePlugins} --sock={kubeletSocket} {registry}:{plugins}', blanks),
      '--dir=/tmp/v-1/k/device-plugins --sock=/tmp/v-1/k/device-plugins/kubelet.sock /tmp/v-1/k/plugins_registry:/tmp/v-1/k/plugins',
    );
  });

  it('become the built-in directories for a plugin that is bound', () => {
    assert.equal(
      fillIn('{kubeletSocket}', blanksFor({ kubelet: '/tmp/v-1/k' }, true)),
      '/var/lib/kubelet/device-plugins/kubelet.sock',
    );
  });

  it('leave other braces alone', () => {
    const blanks = blanksFor({ kubelet: '/k' }, false);
    assert.equal(fillIn('{"a": {pid}} {__proto__} ${HOME}', blanks), '{"a": {pid}} {__proto__} ${HOME}');
  });
});
