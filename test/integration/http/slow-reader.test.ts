// A reader of the event stream that stops reading, on real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { pluginView } from '../../support/fake-admin-port.js';
import { PageServer } from '../../support/page-server.js';

/** More than the kernel takes for a socket that nobody reads, in a few changes. */
const ROWS = 16;
const ROW_BYTES = 256 * 1024;
/** As many as the kernel may hold (tcp_wmem and tcp_rmem), beside a megabyte and a picture that the server holds. */
const MOST_CHANGES = 8;

void describe('a reader of the event stream that stops reading', () => {
  void it('is cut off before much is kept for it, and the others hear everything', async () => {
    const server = await PageServer.start();
    const { source, audience, url } = server;
    const { port } = new URL(url);
    const change = (nth: number): void => {
      const endpoint = String.fromCharCode(97 + nth).repeat(ROW_BYTES);
      source.port.pluginList = Array.from({ length: ROWS }, (_, row) =>
        pluginView({ name: `example.com/${String(row)}`, endpoint, pid: nth }),
      );
      server.touch(`change ${String(nth)}`);
    };
    change(0);
    const slow = connect(Number(port), '127.0.0.1');
    slow.on('error', () => undefined);
    slow.write('GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const sent = request({ port, host: '127.0.0.1', path: '/api/v1/stream', agent: false });
    sent.on('error', () => undefined);
    sent.end();
    const [quick] = (await once(sent, 'response')) as [IncomingMessage];
    let [heard, isOver] = ['', false];
    quick.on('data', (chunk: Buffer) => (heard = (heard + chunk.toString()).slice(-2 * ROW_BYTES)));
    quick.on('error', () => undefined).once('close', () => (isOver = true));
    await eventually('both follow', () => audience.size === 2);
    let changes = 0;
    while (audience.size === 2) {
      changes += 1;
      change(changes);
      const told = `"message":"change ${String(changes)}"`;
      await eventually('the quick one hears of it', () => heard.includes(told));
    }
    assert.ok(changes <= MOST_CHANGES, `${String(changes)} changes`);
    change(changes + 1);
    await eventually('and goes on', () => heard.includes(`"message":"change ${String(changes + 1)}"`));
    assert.deepEqual([audience.size, isOver], [1, false]);
    const ended = once(slow, 'close');
    slow.resume();
    await ended;
    sent.destroy();
    await eventually('nobody is left', () => audience.size === 0);
    server.close();
  });
});
