// A process that holds connections on which nothing is ever called: node idle-connections.js SOCKET COUNT
import { connect } from 'node:http2';
import { connect as dial } from 'node:net';

const [socket = '', count = '0'] = process.argv.slice(2);
let left = Number(count);
for (let at = 0; at < Number(count); at += 1) {
  const session = connect('http://localhost', { createConnection: () => dial(socket) });
  session.on('error', () => undefined);
  session.once('remoteSettings', () => {
    left -= 1;
    if (left === 0) process.stdout.write('all open\n');
  });
}
