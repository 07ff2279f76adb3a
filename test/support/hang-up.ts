// A process of another user that connects and hangs up, again and again, until it is ended: node hang-up.js UID SOCKET
import { connect } from 'node:net';

const [uid = '', socket = ''] = process.argv.slice(2);
/** Side by side. */
const LANES = 8;

process.setgroups?.([]);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
process.stdin.resume().once('end', () => process.exit(0));

function next(): void {
  const dialled = connect(socket);
  dialled.once('connect', () => dialled.destroy());
  // A full queue is waited for: to ask again at once would only keep the processor from the broker.
  dialled.on('error', () => undefined).once('close', (hasFailed) => setTimeout(next, hasFailed ? 5 : 0));
}

for (let lane = 0; lane < LANES; lane += 1) next();
