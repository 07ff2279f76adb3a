import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classifyFailedCall } from '../../../src/model/failed-call.js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { transportFault } from '../../../src/platform/grpc/transport-fault.js';
import { FakeFailure } from '../../support/fake-connection.js';

const S = GRPC_STATUS;

describe('a call that failed', () => {
  for (const [status, message, code] of [
    [S.UNAVAILABLE, 'No connection established. Last error: connect ECONNREFUSED /proc/self/fd/3', 'NO_LISTENER'],
    [S.UNAVAILABLE, 'connect ENOENT /proc/self/fd/3', 'NO_LISTENER'],
    [S.DEADLINE_EXCEEDED, 'no answer within 5000 ms', 'NO_ANSWER'],
    [S.UNAVAILABLE, 'Last error: Protocol error', 'NOT_GRPC'],
    [S.UNAVAILABLE, 'Last error: socket hang up', 'NOT_GRPC'],
    [S.UNAVAILABLE, 'Connection dropped', 'NOT_GRPC'],
    [S.UNAVAILABLE, 'Error: ERR_HTTP2_ERROR', 'NOT_GRPC'],
    [S.UNAVAILABLE, 'Last error: read ECONNRESET', 'NOT_GRPC'],
    [S.INTERNAL, 'Received RST_STREAM with code 1 (nghttp2)', 'NOT_GRPC'],
    [S.UNAVAILABLE, 'Last error: Failed to connect (2030-01-01T00:00:00Z). Resolution note: ', 'NOT_GRPC'],
    [S.UNAVAILABLE, 'connect EAGAIN', 'OPTIONS_FAILED'],
    [
      S.UNAVAILABLE,
      'the broker runs as uid 7 and may not connect to /x.sock (EACCES); run it as root',
      'NOT_PERMITTED',
    ],
    [S.CANCELLED, 'given up', 'OPTIONS_FAILED'],
  ] as const) {
    it(`by our own transport with ${String(status)} ${message}: ${code}`, () => {
      assert.equal(codeOf(new FakeFailure(status, message, transportFault(status, message))), code);
    });
  }

  for (const [status, message, code] of [
    [S.UNIMPLEMENTED, 'The server does not implement the method', 'NOT_SERVED'],
    [S.UNAVAILABLE, 'the plugin is still warming up', 'OPTIONS_FAILED'],
    [S.UNKNOWN, 'ENOENT: no such file or directory, open /dev/nvidiactl', 'OPTIONS_FAILED'],
    [S.UNAVAILABLE, 'dial: connect ECONNREFUSED', 'OPTIONS_FAILED'],
    [S.INTERNAL, 'socket hang up', 'OPTIONS_FAILED'],
    [S.DEADLINE_EXCEEDED, 'the driver took too long', 'OPTIONS_FAILED'],
    [S.UNKNOWN, 'Protocol error of my own device', 'OPTIONS_FAILED'],
  ] as const) {
    it(`by the plugin itself with ${String(status)} ${message}: ${code}`, () => {
      assert.equal(codeOf(new FakeFailure(status, message)), code);
    });
  }
});

function codeOf(failure: FakeFailure): string {
  const refusal = classifyFailedCall(failure, 'it failed', 'x at x.sock', 'OPTIONS_FAILED');
  assert.match(refusal.message, /^x at x\.sock: it failed: /);
  if (refusal.code === 'NOT_PERMITTED')
    assert.ok(refusal.message.endsWith(`: ${failure.message}`), 'the sentence is whole');
  assert.doesNotMatch(refusal.message, /Resolution note/);
  return refusal.code;
}
