import { incarnationAt } from '../../platform/fs/socket-pin.js';
import type { Rig } from '../rig.js';
import type { Scenario } from '../scenario.js';
import { unlinkKubeletSocket } from '../sockets.js';
import { seconds, times } from '../subject.js';
import { BrokerFault, Failed } from '../verdict.js';

/** The broker makes it again at once; this is for a machine on its knees. */
const REMADE_MS = 15_000;
/** How long the plugin's reaction is watched, and how long one that restarts itself may take. */
const WATCH_MS = 5_000;
const BACK_MS = 10_000;
/** How often is looked whether kubelet.sock is there. */
const LOOK_MS = 20;

/** kubelet.sock is made anew, and nothing else happens. */
export const sockOnly: Scenario = {
  name: 'sock-only',
  does: 'makes kubelet.sock anew, and nothing else',
  passesWhen: 'it registers at most once, is back within 10 s, and its devices are never gone',
  doors: ['register'],
  isAboutDevices: true,
  notByKubelets: 'a kubelet deletes the sockets of plugins whenever it makes kubelet.sock',
  seconds: 7,
  run: async (rig) => {
    await rig.comeUp();
    const before = rig.plugins;
    const mark = rig.witness.mark();
    const remadeAt = await remake(rig);
    await rig.pass(WATCH_MS);
    if (!(await rig.served(remadeAt + BACK_MS - Date.now()))) {
      throw new Failed('never-back', `it was not served again within ${seconds(BACK_MS)} of a new kubelet.sock`);
    }
    const dipped = rig.dippedSince(mark);
    if (dipped !== undefined) {
      throw new Failed(
        'dipped',
        `the devices of ${dipped} were gone for a while, although its own socket was not touched`,
      );
    }
    const calls = rig.mostCallsSince(mark);
    if (calls > 1) {
      throw new Failed(
        'storm',
        `it registered ${times(calls)} within ${seconds(Date.now() - remadeAt)} because of one new kubelet.sock`,
      );
    }
    const how = calls === 0 ? 'did not register again' : rig.isRenewed(before) ? 'restarted itself' : 'registered once';
    return rig.passed(`${how}, and its devices were there all the time`, mark);
  },
  mend: {
    how: 'A new kubelet.sock alone is a reason to register once more, with the server that runs. Look at your own socket before you restart the server: only when it is gone it has to be made again.',
    go: 'case event := <-watcher.Events:\n\tif event.Name != kubeletSocket || !event.Has(fsnotify.Create) {\n\t\tcontinue\n\t}\n\tif _, err := os.Stat(ownSocket); err != nil {\n\t\trestartServer() // only when the own socket is gone\n\t}\n\tregister(ctx)',
    python:
      'if event.path == kubelet_socket and event.created:\n    if not os.path.exists(own_socket):\n        restart_server()  # only when the own socket is gone\n    register()',
  },
};

/** @returns when kubelet.sock was there again */
async function remake(rig: Rig): Promise<number> {
  const { kubeletSocket } = rig.directories;
  const before = incarnationAt(kubeletSocket)?.birthNs;
  unlinkKubeletSocket(rig.directories);
  rig.note('deleted kubelet.sock alone; the broker makes it again');
  rig.witness.span('kubelet-sock', 'kubelet.sock', 'down', 'deleted');
  const untilMs = Date.now() + REMADE_MS;
  for (;;) {
    const now = incarnationAt(kubeletSocket)?.birthNs;
    if (now !== undefined && now !== before) break;
    if (Date.now() > untilMs)
      throw new BrokerFault(`the broker did not make kubelet.sock again within ${seconds(REMADE_MS)}`);
    await rig.pass(LOOK_MS);
  }
  rig.witness.span('kubelet-sock', 'kubelet.sock', 'up');
  return Date.now();
}
