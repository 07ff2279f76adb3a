import type { Rig } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { BrokerFault, Failed, Skipped } from '../verdict.js';

/** How long its processes stand still. */
const FROZEN_MS = 10_000;
/** The broker asks every 5 s and waits 3 s (liveness); beyond this it is not the plugin's fault. */
const FOUND_MS = 30_000;
const BACK_MS = 20_000;

/** The process stands still, and goes on. */
export const frozen: Scenario = {
  name: 'frozen',
  does: 'stops its processes with SIGSTOP for 10 s, then lets them go on with SIGCONT',
  passesWhen: 'the registry finds it, and it is back afterwards',
  doors: ANY_DOOR,
  isAboutDevices: true,
  notByKubelets: 'a kubelet never asks a plugin whether it lives',
  seconds: 14,
  run: async (rig) => {
    await rig.comeUp();
    const [plugin] = rig.plugins;
    const pid = plugin?.pid ?? -1;
    if (!rig.isServed()) throw new Skipped('it was not served any more when it was to be stopped', 'unsettled');
    if (!rig.subject.signal(plugin, 'SIGSTOP'))
      throw new Skipped(`its process (pid ${pid}) cannot be stopped from here`);
    const stoppedAt = Date.now();
    rig.note('stopped its processes with SIGSTOP');
    let foundMs = 0;
    try {
      foundMs = await found(rig, stoppedAt);
      await rig.pass(FROZEN_MS - foundMs);
      if (rig.isServed()) {
        throw new Skipped(
          `it is served although its process (pid ${pid}) stands still: another process answers for it`,
        );
      }
    } finally {
      rig.subject.signal(plugin, 'SIGCONT');
    }
    rig.note('let its processes go on');
    const thawedAt = Date.now();
    if (!(await rig.served(BACK_MS))) {
      throw new Failed('never-back', `it was not served within ${seconds(BACK_MS)} of SIGCONT`);
    }
    return `found after ${seconds(foundMs)}, served again ${seconds(Date.now() - thawedAt)} after SIGCONT`;
  },
  mend: {
    how: 'A process that stood still has to go on where it was: its listener, its streams and its timers. Do not measure deadlines of your own by the wall clock, and take the end of a stream as a reason to wait for the next one, never to stop serving.',
    go: 'for {\n\tselect {\n\tcase <-stream.Context().Done():\n\t\treturn nil // the registry opens the list again; keep serving\n\tcase list := <-updates:\n\t\tif err := stream.Send(list); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n}',
    python:
      'while context.is_active():\n    try:\n        yield updates.get(timeout=1)\n    except queue.Empty:\n        continue  # the server itself goes on when this stream ends',
  },
};

async function found(rig: Rig, stoppedAt: number): Promise<number> {
  const isFound = (): boolean => rig.plugins.some(({ state }) => state !== 'ready');
  if ((await rig.changes.until(isFound, FOUND_MS)) === undefined) {
    throw new BrokerFault(`the broker did not find a frozen plugin within ${seconds(FOUND_MS)}`);
  }
  return Date.now() - stoppedAt;
}
