import path from 'node:path';
import { BrokerProcess } from '../broker-process.js';
import { tempDir } from '../temp-dir.js';
import { AdminPoll } from './admin-poll.js';
import type { CrowdCalls } from './crowd.js';
import type { Target } from './flooder.js';
import type { Worker } from './worker.js';

/** A broker that nobody has touched yet, and who looks at it. */
export interface BrokerBed {
  readonly broker: BrokerProcess;
  readonly pid: number;
  readonly poll: AdminPoll;
  readonly target: Target;
}

/** Runs with a fresh broker that does not outlive it; the crowd's connection to it ends with it, too. */
export async function withBroker(
  crowd: Worker<CrowdCalls>,
  config: object,
  run: (bed: BrokerBed) => Promise<void>,
): Promise<void> {
  const broker = new BrokerProcess(tempDir(), config);
  const kill = (): void => {
    if (broker.pid !== undefined) process.kill(broker.pid, 'SIGKILL');
  };
  // Before the directories are removed, which fails where a broker makes files in them, and then nothing else is done.
  process.prependOnceListener('exit', kill);
  await broker.start();
  const poll = new AdminPoll(path.join(broker.root, 'broker.sock'));
  const target = { kubeletSocket: broker.kubeletSocket, dir: broker.devicePlugins };
  await run({ broker, pid: broker.pid ?? 0, poll, target });
  poll.close();
  await crowd.ask('hangUp', broker.kubeletSocket);
  await broker.close();
  process.off('exit', kill);
}
