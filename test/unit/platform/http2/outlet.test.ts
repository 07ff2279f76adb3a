import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { Outlet } from '../../../../src/platform/http2/outlet.js';
import { eventually } from '../../../support/eventually.js';
import { memoryPair } from '../../../support/http2/memory-pair.js';

function bed(): { outlet: Outlet; written: string[]; done: string[]; write: (text: string, isHalf?: boolean) => void } {
  const [peer, socket] = memoryPair();
  const written: string[] = [];
  peer.on('data', (chunk: Buffer) => written.push(chunk.toString()));
  const done: string[] = [];
  const outlet = new Outlet(socket, () => done.push('sent'));
  const write = (text: string, isHalf = false): void =>
    outlet.write([Buffer.from(text)], isHalf, () => done.push(text.slice(0, 8)));
  return { outlet, written, done, write };
}

void describe('a write of the server', () => {
  void it('waits for the end of its answer, and leaves together with it', async () => {
    const { written, done, write } = bed();
    write('message', true);
    assert.deepEqual(done, ['message'], 'the server may go on');
    write(' status');
    await eventually('it is there', () => written.length > 0);
    assert.deepEqual(written, ['message status']);
  });

  void it('waits for no more than a moment where no end comes, and the next write comes after it', async () => {
    const { written, write } = bed();
    write('a list', true);
    await eventually('it is there', () => written.join('') === 'a list');
    write(' another', true);
    write(' and one more', true);
    await eventually('all is there', () => written.join('') === 'a list another and one more');
  });

  void it('leaves at once when it is large, when it is asked for, and when it is no half', async () => {
    const { outlet, written, done, write } = bed();
    write('x'.repeat(5000), true);
    await eventually('it is there', () => written.join('').length === 5000);
    assert.deepEqual(done, ['sent', 'xxxxxxxx']);
    write('half', true);
    outlet.flush();
    outlet.flush();
    write('whole');
    await eventually('all is there', () => written.join('').endsWith('xhalfwhole'));
  });

  void it('does not wait behind what the peer has not read, which is counted there', () => {
    const outlet = new Outlet(new Stuck(), () => undefined);
    let done = 0;
    outlet.write([Buffer.from('unread')], false, () => done++);
    outlet.write([Buffer.from('half')], true, () => done++);
    assert.equal(done, 0);
  });
});

/** Takes nothing. */
class Stuck extends Writable {
  override _write(): void {
    // never done
  }
}
