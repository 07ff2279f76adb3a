import { existsSync } from 'node:fs';
import path from 'node:path';
import { replaceDirectory } from '../registry-faults.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { BrokerFault, Failed, Skipped } from '../verdict.js';

/** The broker notices at once, or at its next rescan. */
const REMADE_MS = 20_000;
/** Plugins that look every few seconds have looked by then. */
const REGISTERED_MS = 15_000;
/** How often is looked whether kubelet.sock is there. */
const LOOK_MS = 20;

/** The directory of sockets goes away and comes back, as when a node is cleaned up. */
export const dirRecreate: Scenario = {
  name: 'dir-recreate',
  does: 'removes the directory of its socket and makes it again',
  passesWhen: 'it registers again',
  doors: ANY_DOOR,
  notByKubelets: 'a kubelet never removes its own directory',
  seconds: 3,
  run: async (rig) => {
    await rig.comeUp();
    const directory = rig.doorDirectory;
    const before = rig.plugins;
    replace(directory);
    rig.note(`removed ${path.basename(directory)} and made it again`);
    const untilMs = Date.now() + REMADE_MS;
    while (!existsSync(rig.directories.kubeletSocket)) {
      if (Date.now() > untilMs)
        throw new BrokerFault(`the broker's kubelet.sock was not back within ${seconds(REMADE_MS)}`);
      await rig.pass(LOOK_MS);
    }
    const backAt = Date.now();
    if ((await rig.changes.until(() => rig.isRenewed(before), REGISTERED_MS)) === undefined) {
      throw new Failed(
        'socket-lost',
        `it did not register a new socket within ${seconds(REGISTERED_MS)}: the old one is gone with its directory, and a registry that restarts cannot find it any more`,
      );
    }
    return `registered again ${seconds(Date.now() - backAt)} after the directory was back`;
  },
  mend: {
    how: 'A watch dies with the directory it is on. Watch the parent directory, too, or look every few seconds whether the own socket is still at its path; when it is not, make it again and register.',
    go: 'case <-time.Tick(5 * time.Second):\n\tif !sameFile(ownSocket, ownSocketInfo) { // os.SameFile on what was bound and what is there\n\t\trestartServer()\n\t\twatcher.Add(pluginapi.DevicePluginPath) // the old watch went with the old directory\n\t\tregister(ctx)\n\t}',
    python:
      'if not same_file(own_socket, bound):  # looked at every 5 s\n    restart_server()\n    observer.schedule(handler, directory)  # the old watch went with the old directory\n    register()',
  },
};

function replace(directory: string): void {
  try {
    replaceDirectory(directory);
  } catch (failure) {
    throw new Skipped(`the directory cannot be removed: ${(failure as Error).message}`);
  }
}
