import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeRetryInfo, encodeRetryInfo } from '../../../../src/platform/wire/retry-info.js';
import { WireError } from '../../../../src/platform/wire/wire-error.js';

describe('retry info', () => {
  it('is a google.rpc.Status with one RetryInfo', () => {
    const url = Buffer.from('type.googleapis.com/google.rpc.RetryInfo').toString('hex');
    const wanted = ['0808', '12026e6f', '1a36', `0a28${url}`, '120a', '0a08', '0801', '1080cab5ee01'].join('');
    assert.equal(encodeRetryInfo(8, 'no', 1500).toString('hex'), wanted);
  });

  it('brings milliseconds back, parts of one rounded up and negative ones as zero', () => {
    for (const [given, back] of [
      [0, 0],
      [1, 1],
      [999.2, 1000],
      [2_500, 2_500],
      [86_400_000, 86_400_000],
      [-5, 0],
    ] as const) {
      assert.equal(decodeRetryInfo(encodeRetryInfo(8, 'wait', given)), back);
    }
  });

  it('is undefined where a status has other details or none', () => {
    assert.equal(decodeRetryInfo(Buffer.alloc(0)), undefined);
    assert.equal(decodeRetryInfo(Buffer.from('1a050a01611200', 'hex')), undefined);
  });

  it('is a WireError for bytes that are no status', () => {
    assert.throws(() => decodeRetryInfo(Buffer.from('ffff', 'hex')), WireError);
  });
});
