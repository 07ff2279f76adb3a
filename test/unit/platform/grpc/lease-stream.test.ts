import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LeaseNews } from '../../../../src/allocation/ports.js';
import { LeaseStream } from '../../../../src/platform/grpc/lease-stream.js';

const news = (type: LeaseNews['type'], message = ''): LeaseNews => ({ type, reason: '', message }) as LeaseNews;

function bed() {
  const written: string[] = [];
  const sent: (() => void)[] = [];
  let ends = 0;
  const stream = new LeaseStream({
    write: ({ type, message }, done) => {
      written.push(type + message);
      sent.push(done);
    },
    end: () => (ends += 1),
  });
  return { stream, written, read: () => sent.shift()?.(), ends: () => ends };
}

describe('the stream of one follower of a lease', () => {
  it('has one of the news unread, and the newest one behind it', () => {
    const { stream, written, read } = bed();
    stream.tell(news('attached'));
    for (let nth = 0; nth < 100; nth += 1) stream.tell(news('impaired', String(nth)));
    assert.deepEqual(written, ['attached']);
    read();
    assert.deepEqual(written, ['attached', 'impaired99']);
    read();
    stream.tell(news('active'));
    assert.deepEqual(written, ['attached', 'impaired99', 'active']);
  });

  it('ends with the last news of the lease, which wait for nothing', () => {
    const { stream, written, read, ends } = bed();
    stream.tell(news('attached'));
    stream.tell(news('impaired'));
    stream.tell(news('released'));
    stream.tell(news('active'));
    assert.deepEqual(written, ['attached', 'released']);
    assert.equal(ends(), 1);
    read();
    read();
    assert.deepEqual(written, ['attached', 'released']);
  });
});
