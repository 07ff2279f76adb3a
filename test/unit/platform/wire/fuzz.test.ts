import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fuzzMessages } from '../../../support/wire-fuzz.js';

void describe('messages under damaged input', () => {
  void it('are read or refused, and nothing else comes of 20,000 inputs', () => {
    assert.doesNotThrow(() => fuzzMessages(1, 20_000));
  });
});
