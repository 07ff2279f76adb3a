import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { BrokerFault, Failed, Skipped } from '../verdict.js';

/** Contract 13. */
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
  seconds: 14,
  run: async (rig) => {
    await rig.comeUp();
    const pid = rig.plugins[0]?.pid ?? -1;
    if (!rig.subject.signal(pid, 'SIGSTOP')) throw new Skipped(`its process (pid ${pid}) cannot be stopped from here`);
    const stoppedAt = Date.now();
    rig.note('stopped its processes with SIGSTOP');
    let foundMs = 0;
    try {
      const isFound = (): boolean => rig.plugins.some(({ state }) => state !== 'ready');
      if ((await rig.changes.until(isFound, FOUND_MS)) === undefined) {
        throw new BrokerFault(`the broker did not find a frozen plugin within ${seconds(FOUND_MS)}`);
      }
      foundMs = Date.now() - stoppedAt;
      await rig.pass(FROZEN_MS - foundMs);
    } finally {
      rig.subject.signal(pid, 'SIGCONT');
    }
    rig.note('let its processes go on');
    const thawedAt = Date.now();
    if (!(await rig.served(BACK_MS))) throw new Failed(`it was not served within ${seconds(BACK_MS)} of SIGCONT`);
    return `found after ${seconds(foundMs)}, served again ${seconds(Date.now() - thawedAt)} after SIGCONT`;
  },
};
