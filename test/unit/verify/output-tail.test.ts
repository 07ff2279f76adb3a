import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OutputTail } from '../../../src/verify/output-tail.js';

describe('the tail of an output', () => {
  it('is everything while that is little', () => {
    const tail = new OutputTail();
    tail.take(Buffer.from('one\n'));
    tail.take(Buffer.from('two\n \n'));
    assert.deepEqual([tail.text(), tail.lastLine(), tail.total], ['one\ntwo\n \n', 'two', 10]);
  });

  it('is the end of what was written, however it was cut into pieces', () => {
    for (const piece of [7, 100, 4096, 65_536, 1_000_000]) {
      const tail = new OutputTail();
      const all = Buffer.from(Array.from({ length: 50_000 }, (_, line) => `line ${String(line)}\n`).join(''));
      for (let at = 0; at < all.length; at += piece) tail.take(all.subarray(at, at + piece));
      const [first = '', ...rest] = tail.text().split('\n');
      const kept = rest.join('\n');
      assert.equal(first, `… ${String(all.length - kept.length)} bytes before this are left out`);
      assert.equal(kept, all.subarray(all.length - kept.length).toString());
      assert.equal(kept.length, 64 * 1024);
      assert.equal(tail.lastLine(), 'line 49999');
    }
  });

  it('has no last line when nothing was written', () => {
    assert.deepEqual([new OutputTail().lastLine(), new OutputTail().text()], ['', '']);
  });
});
