import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resourceUsers } from '../../../src/podresources/resource-users.js';

/** Plugins by resource: `instance` of root, `instance-4001` of an ordinary user. */
const PLUGINS = new Map([
  ['v/roots', 'instance'],
  ['v/users', 'instance-4001'],
]);

function users(fronted?: readonly string[]) {
  const offered = {
    of: (resource: string) => {
      const id = PLUGINS.get(resource);
      return id === undefined ? undefined : { instance: { id } };
    },
  };
  const front = fronted && { isFronted: (resource: string) => fronted.includes(resource) };
  return resourceUsers(front, offered, (id) => (id === 'instance' ? undefined : Number(id.split('-')[1])));
}

describe('the users of resources that a kubelet has', () => {
  it('are those of our plugins where we offer the resource, also of one that is gone', () => {
    const { strangerOf, isKubelets } = users(['v/roots', 'v/users', 'v/gone']);
    assert.deepEqual(['v/roots', 'v/users', 'v/gone'].map(strangerOf), [undefined, 4001, undefined]);
    assert.deepEqual(['v/roots', 'v/users', 'v/gone'].map(isKubelets), [false, false, false]);
  });

  it('are none of ours where we do not, and it is left to the kubelet unless our plugin is of root', () => {
    for (const { strangerOf, isKubelets } of [users(), users([])]) {
      assert.deepEqual(['v/roots', 'v/users', 'v/gone'].map(strangerOf), [undefined, undefined, undefined]);
      assert.deepEqual(['v/roots', 'v/users', 'v/gone'].map(isKubelets), [false, true, true]);
    }
  });
});
