import { pluginKey } from '../../model/ids.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { BrokerFault } from '../verdict.js';
import { restartNowipe, returns } from './restart-nowipe.js';

/** Beyond this the broker answers with the registration not on disk: it says so after 2 s. */
const ACKNOWLEDGED_MS = 10_000;

/** A registry that dies without a word. */
export const restartKill: Scenario = {
  name: 'restart-kill',
  does: 'kills the registry with SIGKILL and starts it again, twice',
  passesWhen: 'it is served again each time, without a storm, and nothing acknowledged is lost',
  doors: ANY_DOOR,
  seconds: 9,
  run: (rig) => {
    const leave = async (): Promise<void> => {
      const isOnDisk = (): boolean => rig.plugins.every(({ isDurable }) => isDurable);
      if ((await rig.changes.until(isOnDisk, ACKNOWLEDGED_MS)) === undefined) {
        throw new BrokerFault(`the broker did not have its registration on disk within ${seconds(ACKNOWLEDGED_MS)}`);
      }
      await rig.broker.kill();
      rig.note('killed the broker with SIGKILL');
    };
    return returns(rig, leave, () => {
      const known = new Set(rig.plugins.map(pluginKey));
      const lost = [...rig.known.keys].filter((key) => !known.has(key));
      if (lost.length > 0) {
        throw new BrokerFault(`the broker had acknowledged ${lost.join(', ')} and did not know it after SIGKILL`);
      }
    });
  },
  mend: restartNowipe.mend,
};
