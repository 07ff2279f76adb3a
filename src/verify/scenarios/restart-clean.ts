import { DEVICE_PLUGIN } from '../../model/ids.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { removePluginSockets } from '../sockets.js';
import { seconds } from '../subject.js';
import { Failed } from '../verdict.js';

/** Both limits are those of the scenario restart-clean in docs/verify.md. */
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
    const removed = removePluginSockets(rig.directories);
    rig.note(`deleted ${removed.length === 0 ? 'no socket' : removed.join(', ')}, as the kubelet does at its start`);
    const openedAt = await rig.startBroker();
    const isRegistered = (): boolean =>
      rig.plugins.length === rig.known.keys.size && rig.plugins.every(({ state }) => state === 'ready');
    if ((await rig.changes.until(isRegistered, openedAt + REGISTERED_MS - Date.now())) === undefined) {
      throw new Failed(
        'never-back',
        `it did not register again within ${seconds(REGISTERED_MS)}, although its socket was deleted and kubelet.sock made anew, as at every start of a kubelet`,
      );
    }
    const registeredMs = Date.now() - openedAt;
    if (!(await rig.served(LISTED_MS))) {
      throw new Failed(
        'no-healthy-device',
        `it registered again, but no list with a healthy device came within ${seconds(LISTED_MS)}`,
      );
    }
    const list = rig.plugins.some(({ type }) => type === DEVICE_PLUGIN) ? ', and sent its list' : '';
    return `registered again ${seconds(registeredMs)} after the registry's return${list}`;
  },
  mend: {
    how: 'A kubelet deletes the sockets of plugins when it starts, and makes kubelet.sock anew. Notice either: watch the directory for the creation of kubelet.sock, and for the removal of your own socket; then serve on a new socket and register.',
    go: 'case event := <-watcher.Events:\n\tgone := event.Name == ownSocket && event.Has(fsnotify.Remove)\n\tback := event.Name == kubeletSocket && event.Has(fsnotify.Create)\n\tif gone || back {\n\t\trestartServerIfSocketGone()\n\t\tregister(ctx) // try again with a pause until it is answered\n\t}',
    python:
      'if (event.path == own_socket and event.deleted) or (event.path == kubelet_socket and event.created):\n    restart_server_if_socket_gone()\n    register()  # try again with a pause until it is answered',
  },
};
