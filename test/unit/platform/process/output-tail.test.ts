import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OutputTail } from '../../../../src/platform/process/output-tail.js';

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

describe('the last words of a plugin that crashed', () => {
  const tail = (...lines: readonly string[]): OutputTail => {
    const made = new OutputTail();
    made.take(Buffer.from(lines.map((line) => `${line}\n`).join('')));
    return made;
  };
  const go = [
    'panic: close of closed channel',
    '',
    'goroutine 7 [running]:',
    '\t/usr/lib/go/src/runtime/asm_amd64.s:1594 +0x1',
  ];

  it('are the message of a panic in Go, not the last frame of its stack', () => {
    assert.equal(tail('serving', ...go).lastLine(), 'panic: close of closed channel');
    assert.equal(
      tail('fatal error: all goroutines are asleep - deadlock!', ...go.slice(1)).lastLine(),
      'fatal error: all goroutines are asleep - deadlock!',
    );
  });

  it('are the last line where a word of a panic is only text', () => {
    assert.equal(tail('panic: button pressed', 'serving').lastLine(), 'serving');
  });

  it('count only from a given moment on', () => {
    const output = tail(...go);
    const before = output.total;
    output.take(Buffer.from('started again\n'));
    assert.deepEqual([output.crashSince(0), output.crashSince(before)], [go[0], undefined]);
    output.take(Buffer.from('Traceback (most recent call last):\n  File "p.py"\nValueError: no device\n'));
    assert.equal(output.crashSince(before), 'ValueError: no device');
  });
});
