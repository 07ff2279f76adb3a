import { incarnationKey } from '../../model/ids.js';
import { incarnationAt } from '../../platform/fs/socket-pin.js';
import { COME_UP_MS } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { endOf, lastWords, seconds } from '../subject.js';
import { Failed, Skipped } from '../verdict.js';

/** What the first one does on its way out, and what the second makes of that, has happened by then. */
const AFTER_MS = 3_000;

/** A rolling update: the new one is there before the old one goes. */
export const overlap: Scenario = {
  name: 'overlap',
  does: 'starts a second instance, then ends the first with SIGTERM',
  passesWhen: 'devices are never gone, and the second keeps its socket',
  doors: ANY_DOOR,
  needsCommand: true,
  seconds: 6,
  run: async (rig) => {
    if (rig.second === undefined) throw new Skipped('a plugin that runs already cannot be started a second time');
    await rig.comeUp();
    const before = rig.plugins;
    const mark = rig.witness.mark();
    const second = rig.second();
    try {
      second.start();
      const hasTakenOver = (): boolean => rig.isRenewed(before);
      await rig.changes.until(() => hasTakenOver() || second.ends.length > 0, COME_UP_MS);
      const [end] = second.ends;
      if (end !== undefined)
        throw new Failed(`the second instance ended ${endOf(end)} beside the first${lastWords(second)}`);
      if (!hasTakenOver())
        throw new Failed(`the second instance did not register a socket of its own within ${seconds(COME_UP_MS)}`);
      const successors = rig.plugins;
      rig.note('ends the first instance');
      await rig.subject.stop();
      await rig.pass(AFTER_MS);
      const dipped = rig.dippedSince(mark);
      if (dipped !== undefined)
        throw new Failed(`the devices of ${dipped} were gone for a while when the second took over from the first`);
      const robbed = successors.find(({ socket, incarnation }) => {
        const now = incarnationAt(socket);
        return now === undefined || incarnationKey(now) !== incarnation;
      });
      if (robbed !== undefined)
        throw new Failed(
          `the socket of the second instance, ${robbed.socket}, was gone or another's after the first had ended`,
        );
      return 'the second took over, the first ended, and devices were there all the time';
    } finally {
      await second.stop();
    }
  },
};
