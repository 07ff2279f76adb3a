// A process that has a lease bound to itself and lives until it is killed: node alloc-owner-process.js SOCKET RESOURCE [BIND]
import { AllocClient } from './alloc-client.js';
import { stayAwake } from '../../src/platform/time/stay-awake.js';

const [socket = '', resource = '', bind = 'process'] = process.argv.slice(2);
const client = new AllocClient(socket);
const { id, granted } = await client.one(resource, { owner: { bind } });
process.stdout.write(`${JSON.stringify({ id, ids: granted.flatMap(({ ids }) => ids) })}\n`);
// The lease is the process's, not the connection's.
client.close();
stayAwake();
