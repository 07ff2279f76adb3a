// A process that holds connections on which nothing is ever called: node idle-connections.js SOCKET COUNT
import { connect } from 'node:http2';
import { connect as dial } from 'node:net';

const [socket = '', count = '0'] = process.argv.slice(2);
/** Opened side by side: more of them would not fit the queue of the socket, beside those of other processes. */
const LANES = 16;
let [begun, ended] = [0, 0];

function next(): void {
  if (begun === Number(count)) return;
  begun += 1;
  const session = connect('http://localhost', { createConnection: () => dial(socket) });
  let isDone = false;
  const done = (): void => {
    if (isDone) return;
    isDone = true;
    ended += 1;
    if (ended === Number(count)) process.stdout.write('all open\n');
    next();
  };
  session.on('error', () => undefined);
  session.once('remoteSettings', done).once('close', done);
}

for (let lane = 0; lane < LANES; lane++) next();
