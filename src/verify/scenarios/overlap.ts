import { COME_UP_MS } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { endOf, lastWords, seconds } from '../subject.js';
import { Failed, Skipped } from '../verdict.js';

/** The first one's last actions, and the second's reactions to them, are over by then. */
const AFTER_MS = 3_000;

/** A rolling update: the new one is there before the old one goes. */
export const overlap: Scenario = {
  name: 'overlap',
  does: 'starts a second instance, then ends the first with SIGTERM',
  passesWhen: 'its resources are never gone, and the second keeps its socket',
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
        throw new Failed('crashed', `the second instance ended ${endOf(end)} beside the first${lastWords(second)}`);
      if (!hasTakenOver()) {
        throw new Failed(
          'never-back',
          `the second instance did not register a socket of its own within ${seconds(COME_UP_MS)}`,
        );
      }
      rig.note('ends the first instance');
      await rig.subject.stop();
      await rig.pass(AFTER_MS);
      const dipped = rig.dippedSince(mark);
      if (dipped !== undefined) {
        const what = rig.hasDevices ? `the devices of ${dipped} were` : `${dipped} was`;
        throw new Failed('dipped', `${what} gone for a while when the second took over from the first`);
      }
      const [robbed] = rig.lostSockets();
      if (robbed !== undefined) {
        throw new Failed(
          'socket-lost',
          `the socket of the second instance of ${robbed} was gone or another's after the first had ended`,
        );
      }
      return `the second took over, the first ended, and ${rig.goods} there all the time`;
    } finally {
      await second.stop();
    }
  },
  mend: {
    how: 'Give each instance a socket of its own, and remove at the end only the socket that is yours: compare device and inode with what you made. A second instance that finds the name taken must not delete it while somebody listens there.',
    go: 'socket := filepath.Join(dir, fmt.Sprintf("%s-%d.sock", name, os.Getpid()))\nlis, _ := net.Listen("unix", socket)\nlis.(*net.UnixListener).SetUnlinkOnClose(true) // removes its own name, no other',
    python:
      'socket = f"{directory}/{name}-{os.getpid()}.sock"\natexit.register(lambda: os.path.exists(socket) and os.unlink(socket))',
  },
};
