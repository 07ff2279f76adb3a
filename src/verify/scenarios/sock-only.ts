import { rmSync } from 'node:fs';
import { incarnationAt } from '../../platform/fs/socket-pin.js';
import type { Scenario } from '../scenario.js';
import { seconds, times } from '../subject.js';
import { BrokerFault, Failed } from '../verdict.js';

/** The broker makes it again at once; this is for a machine on its knees. */
const REMADE_MS = 15_000;
/** How long is watched what the plugin makes of it. */
const WATCH_MS = 5_000;
/** How often is looked whether kubelet.sock is there. */
const LOOK_MS = 20;

/** kubelet.sock is made anew, and nothing else happens. */
export const sockOnly: Scenario = {
  name: 'sock-only',
  does: 'makes kubelet.sock anew, and nothing else',
  passesWhen: 'it registers at most once, and its devices are never gone',
  doors: ['register'],
  isAboutDevices: true,
  seconds: 7,
  run: async (rig) => {
    await rig.comeUp();
    const { kubeletSocket } = rig.places;
    const before = incarnationAt(kubeletSocket)?.ino;
    const mark = rig.witness.mark();
    rmSync(kubeletSocket, { force: true });
    rig.note('deleted kubelet.sock alone; the broker makes it again');
    const untilMs = Date.now() + REMADE_MS;
    for (;;) {
      const now = incarnationAt(kubeletSocket)?.ino;
      if (now !== undefined && now !== before) break;
      if (Date.now() > untilMs)
        throw new BrokerFault(`the broker did not make kubelet.sock again within ${seconds(REMADE_MS)}`);
      await rig.pass(LOOK_MS);
    }
    await rig.pass(WATCH_MS);
    const dipped = rig.dippedSince(mark);
    if (dipped !== undefined)
      throw new Failed(`the devices of ${dipped} were gone for a while, although its own socket was not touched`);
    const calls = rig.mostCallsSince(mark);
    if (calls > 1)
      throw new Failed(`it registered ${times(calls)} within ${seconds(WATCH_MS)} because of one new kubelet.sock`);
    return `${calls === 0 ? 'did not register again' : 'registered once'}, and its devices were there all the time`;
  },
};
