import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusIn } from '../../../../src/platform/grpc/answer-status.js';

describe('the words of an answer', () => {
  it('are unescaped, and cut by what they take where they are written: they are kept with the plugin', () => {
    const words = (message: string): string => statusIn({ 'grpc-status': '2', 'grpc-message': message }, 200).details;
    assert.equal(words('no%20GPU'), 'no GPU');
    assert.equal(words('x'.repeat(60_000)).length, 2048);
    assert.equal(words('%01'.repeat(20_000)).length, 341);
  });
});
