// A broker that runs as another user: node other-uid-broker.js UID ROOT [without-koffi]
// It says on standard output what it records, an event a line. It becomes that user only after its code is loaded, which that user
// may not be allowed to read.
import { Drivers } from '../../src/daemon/drivers.js';
import { pluginSockets } from '../../src/platform/fs/socket-paths.js';
import { Peers } from '../../src/platform/peer/peers.js';
import { systemClock } from '../../src/platform/time/system-clock.js';
import { systemRandom } from '../../src/platform/time/system-random.js';
import { guarding } from './guarding.js';
import { silentLog } from './silence.js';
import { startTestBroker } from './test-broker.js';
import { loadDefaults } from './test-settings.js';

const [given = '', root = '', without] = process.argv.slice(2);
const uid = Number(given);
const peers = without === undefined ? new Peers() : new Peers(() => undefined);
// Asked once, it has loaded koffi.
if (!peers.isExact && without === undefined) throw new Error('koffi cannot be loaded');
process.setgroups?.([uid]);
process.setgid?.(uid);
process.setuid?.(uid);
const { settings } = loadDefaults(root);
const drivers = new Drivers({
  settings: { ...settings, timeouts: { ...settings.timeouts, nodeGetInfoMs: 300 } },
  ...{ clock: systemClock, random: systemRandom, log: silentLog, guarding },
  ...{ pin: pluginSockets(settings.paths, uid).pin, ownUid: uid },
});
const record = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
await startTestBroker(root, undefined, {
  peers,
  handlers: drivers.handlers,
  self: { uid, pid: process.pid },
  events: { record },
});
process.stdout.write('serving\n');
process.stdin.resume().once('end', () => process.exit());
