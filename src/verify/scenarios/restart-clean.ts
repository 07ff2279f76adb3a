import { DEVICE_PLUGIN } from '../../model/ids.js';
import { removePluginSockets } from '../places.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { Failed } from '../verdict.js';

/** Both limits are those of contract 13. */
const REGISTERED_MS = 10_000;
const LISTED_MS = 2_000;

/** A restart of the kubelet as it is: plugin sockets are deleted. */
export const restartClean: Scenario = {
  name: 'restart-clean',
  does: 'stops the registry, deletes the plugin sockets, starts it',
  passesWhen: 'it registers again within 10 s and sends its first list within 2 s of that',
  doors: ANY_DOOR,
  seconds: 3,
  run: async (rig) => {
    await rig.comeUp();
    await rig.stopBroker();
    const removed = removePluginSockets(rig.places);
    rig.note(`deleted ${removed.length === 0 ? 'no socket' : removed.join(', ')}, as the kubelet does at its start`);
    const openedAt = await rig.startBroker();
    const isRegistered = (): boolean =>
      rig.plugins.length === rig.known.keys.size && rig.plugins.every(({ state }) => state === 'ready');
    if ((await rig.changes.until(isRegistered, openedAt + REGISTERED_MS - Date.now())) === undefined) {
      throw new Failed(
        `it did not register again within ${seconds(REGISTERED_MS)}, although its socket was deleted and kubelet.sock made anew, as at every start of a kubelet`,
      );
    }
    const registeredMs = Date.now() - openedAt;
    if (!(await rig.served(LISTED_MS))) {
      throw new Failed(`it registered again, but no list with a healthy device came within ${seconds(LISTED_MS)}`);
    }
    const list = rig.plugins.some(({ type }) => type === DEVICE_PLUGIN) ? ', and sent its list' : '';
    return `registered again ${seconds(registeredMs)} after the registry's return${list}`;
  },
};
