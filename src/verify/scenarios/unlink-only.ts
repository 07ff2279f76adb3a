import { existsSync } from 'node:fs';
import path from 'node:path';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { unlinkSockets } from '../sockets.js';
import { endOf, seconds } from '../subject.js';
import { Failed } from '../verdict.js';

/** Plugins that look every few seconds have looked by then. */
const NOTICED_MS = 15_000;

/** Somebody deletes the plugin's socket. */
export const unlinkOnly: Scenario = {
  name: 'unlink-only',
  does: "deletes the plugin's socket, and nothing else",
  passesWhen: 'it makes it again, or exits',
  doors: ANY_DOOR,
  seconds: 3,
  run: async (rig) => {
    await rig.comeUp();
    const before = rig.plugins;
    const ends = rig.subject.ends.length;
    unlinkSockets(rig.directories, before);
    rig.note(`deleted ${before.map(({ socket }) => path.basename(socket)).join(', ')}`);
    const deletedAt = Date.now();
    await rig.changes.until(() => rig.isRenewed(before) || rig.subject.ends.length > ends, NOTICED_MS);
    const end = rig.subject.ends[ends];
    if (end !== undefined) {
      const isBack = await rig.served(NOTICED_MS);
      return `exited ${endOf(end)}${isBack ? ', and came back when it was started again' : ''}`;
    }
    if (rig.isRenewed(before)) return `registered a new socket ${seconds(Date.now() - deletedAt)} later`;
    if (before.every(({ socket }) => existsSync(socket))) return 'made its socket again, but did not register it';
    throw new Failed(
      'socket-lost',
      `it went on without its socket for ${seconds(NOTICED_MS)}: a registry that restarts now cannot find it any more`,
    );
  },
  mend: {
    how: 'Watch your own socket. When its file is gone nobody can find you any more, although every open connection goes on: make it again and register, or exit with an error, so that the supervisor starts you again.',
    go: 'if event.Name == ownSocket && event.Has(fsnotify.Remove) {\n\tlog.Print("own socket removed")\n\tos.Exit(1) // or: listen again and register\n}',
    python:
      'if event.path == own_socket and event.deleted:\n    sys.exit("own socket removed")  # or: listen again and register',
  },
};
