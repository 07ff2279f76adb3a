// A process that asks one address over HTTP on and on, on many connections: node http-crowd-process.js UID URL CONNECTIONS
// Each answer's status is a line on standard output. It becomes that user only after its code is loaded, which that user may not be
// allowed to read. With one connection it asks ten times and ends.
import { Agent, get } from 'node:http';

const [uid = '', url = '', given = '1'] = process.argv.slice(2);
const connections = Number(given);
const LONE_ASKS = 10;
const AGAIN_MS = 20;
process.setgroups?.([Number(uid)]);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
const agent = new Agent({ keepAlive: connections > 1, maxSockets: connections });
let left = connections > 1 ? Infinity : LONE_ASKS;

function ask(): void {
  if (left === 0) return;
  left -= 1;
  let isAnswered = false;
  const again = (): void => void setTimeout(ask, AGAIN_MS);
  const sent = get(url, { agent }, (response) => {
    isAnswered = true;
    process.stdout.write(`${String(response.statusCode)}\n`);
    response.on('error', () => undefined).once('close', again);
    // Many follow a stream until they are cut off, one only wants to see it begin.
    response.once('data', () => url.endsWith('stream') && connections === 1 && response.destroy()).resume();
  });
  sent.on('error', () => {
    if (!isAnswered) again();
  });
}

for (let one = 0; one < connections; one += 1) ask();
