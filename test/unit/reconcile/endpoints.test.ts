import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Endpoints } from '../../../src/reconcile/endpoints.js';
import type { Instance } from '../../../src/model/instance.js';

describe('an endpoint whose directory does not answer', () => {
  const endpoint = {
    id: 'a',
    endpointPath: '/door/a.sock',
    endpointKey: '1:2:3',
    state: 'held',
    reason: 'connection-lost',
  };
  const endpoints = (problem: string, detail: string): Endpoints =>
    new Endpoints(
      {
        keyAt: (_path, known) => known,
        pin: () => ({ problem, detail }),
        listenerOf: () => assert.fail('there is nothing to ask about'),
      },
      { get: () => endpoint as Instance },
    );

  it('may have a listener: nothing is said of it', () => {
    assert.equal(endpoints('error', 'ETIMEDOUT').isListening(endpoint as Instance), true);
    assert.equal(endpoints('missing', 'ENOENT').isListening(endpoint as Instance), false);
  });

  it('is not asked now', () => {
    assert.equal(endpoints('error', 'ETIMEDOUT').forAsking('a'), undefined);
  });
});
