// A process that asks for the lock and says on stdout what came of it: node lock-holder.js FOLDER WAIT_MS
// takeover|polite ASKED_MS LATE_MS (how long it takes to go when it is asked to)
import type { InstanceLock } from '../../../src/platform/store/held-lock.js';
import { acquireInstanceLock } from '../../../src/platform/store/instance-lock.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';

const [folder = '', waitMs = '0', manner = 'polite', askedMs = '0', lateMs = '100'] = process.argv.slice(2);
let isGoing = false;
let phase = 'ready';
let lock: InstanceLock | undefined;

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function stop(): Promise<void> {
  await lock?.release();
  say({ kind: 'released' });
  process.exit(0);
}

process.stdin.setEncoding('utf8');
process.stdin.on('data', (line: string) => {
  if (line.startsWith('stopping')) phase = 'stopping';
  if (line.startsWith('release')) void stop();
});
process.stdin.on('end', () => process.exit(0));

const outcome = await acquireInstanceLock(
  folder,
  { waitMs: Number(waitMs), takeover: manner === 'takeover', askedMs: Number(askedMs) },
  {
    clock: systemClock,
    random: { next: () => Math.random() },
    holder: () => ({ pid: process.pid, phase }),
    onTakeover: () => {
      phase = 'stopping';
      say({ kind: 'asked' });
      // As a broker that flushes before it lets go.
      if (!isGoing) setTimeout(() => void stop(), Number(lateMs));
      isGoing = true;
    },
    onWait: (message) => say({ kind: 'waits', message }),
  },
);
if (outcome.kind === 'held') lock = outcome.lock;
say(outcome.kind === 'held' ? { kind: 'held' } : outcome);
