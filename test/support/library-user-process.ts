// A program that starts a broker and never stops it: its leftovers are its test's business.
import { startBroker } from '../../src/library/start-broker.js';

const [how = 'wait'] = process.argv.slice(2);
const broker = await startBroker();
process.stdout.write(`${JSON.stringify({ pid: broker.pid, root: broker.root })}\n`);
if (how === 'wait') setInterval(() => undefined, 60_000);
if (how === 'stop') await broker.stop();
