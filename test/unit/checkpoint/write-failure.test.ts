import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writeFailure } from '../../../src/checkpoint/write-failure.js';

describe('the sentence about a checkpoint that cannot be written', () => {
  for (const [failure, remedy] of [
    ['ENOSPC: no space left on device, write', /; make room on the disk of \/state$/],
    ['EACCES: permission denied, open', /; let the user of the broker write in \/state$/],
    ['EMFILE: too many open files, open', /; the broker has no file descriptor left: .*LimitNOFILE/],
    ['ENFILE: file table overflow, open', /; the machine has no file descriptor left/],
    ['EIO: i/o error, fsync', /; the disk of \/state has an error/],
  ] as const) {
    it(`says what to do about ${failure.split(':')[0]}`, () => {
      const sentence = writeFailure(failure, '/state');
      assert.match(sentence, remedy);
      assert.ok(sentence.startsWith(`the checkpoint is not on the disk: ${failure}; `));
    });
  }

  it('says no more than the system where nothing is known about it', () => {
    assert.equal(
      writeFailure('ETIMEDOUT: timed out', '/state'),
      'the checkpoint is not on the disk: ETIMEDOUT: timed out',
    );
  });
});
