import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Directories } from '../../../src/verify/directories.js';
import { redaction } from '../../../src/verify/redact.js';

const PLACES: Directories = {
  ...{
    own: '/tmp/v-1',
    configFile: '/tmp/v-1/config.yaml',
    state: '/tmp/v-1/state',
    brokerSocket: '/tmp/v-1/broker.sock',
  },
  ...{ kubelet: '/tmp/v-1/k', devicePlugins: '/tmp/v-1/k/device-plugins', registry: '/tmp/v-1/k/plugins_registry' },
  ...{ plugins: '/tmp/v-1/k/plugins', kubeletSocket: '/tmp/v-1/k/device-plugins/kubelet.sock' },
};

describe('private data in a record', () => {
  it('is replaced by its name, the longest first', () => {
    const redact = redaction(PLACES, {}, []);
    assert.equal(
      redact('/tmp/v-1/k/device-plugins/kubelet.sock /tmp/v-1/k/device-plugins/a.sock /tmp/v-1/k/x /tmp/v-1/state'),
      '{kubeletSocket} {devicePlugins}/a.sock {kubelet}/x {private}/state',
    );
  });

  it('are the values of the environment, except those that stand in the command, and words', () => {
    const redact = redaction(PLACES, { TOKEN: 'hunter2-hunter2', MODE: 'true', DIR: '/data/devices' }, [
      '--dir',
      '/data/devices',
    ]);
    assert.equal(
      redact('token=hunter2-hunter2 mode=true at /data/devices'),
      'token={$TOKEN} mode=true at /data/devices',
    );
  });
});
