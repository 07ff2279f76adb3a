import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { Failed } from '../verdict.js';

/**
 * How long after the plugin's start the registry starts: the window in which plugins set up their watches is the first second.
 */
const DELAYS_MS = [0, 250, 1_000, 2_500, 5_000];
/** Plugins that try again after a pause have it behind them by then. */
const REGISTERED_MS = 20_000;

/** The node boots, and plugins are there before the kubelet. */
export const lateSocket: Scenario = {
  name: 'late-socket',
  does: 'starts the plugin first, and the registry 0, 0.25, 1, 2.5 and 5 s later',
  passesWhen: 'it registers every time',
  doors: ANY_DOOR,
  seconds: 16,
  run: async (rig) => {
    const what = rig.known.door === 'register' ? 'kubelet.sock appeared' : 'the registry began to look';
    const waits: number[] = [];
    for (const delay of DELAYS_MS) {
      await rig.clear();
      rig.subject.start();
      await rig.pass(delay);
      const openedAt = await rig.startBroker();
      if (!(await rig.served(REGISTERED_MS))) {
        throw new Failed(
          'never-back',
          `${what} ${seconds(delay)} after its start, and ${seconds(REGISTERED_MS)} later it was not registered`,
        );
      }
      waits.push(Date.now() - openedAt);
    }
    return `registered each of ${DELAYS_MS.length} times, at the latest ${seconds(Math.max(...waits))} after ${what}`;
  },
  mend: {
    how: 'Watch the directory before you try to register for the first time, and try again with a pause until it is answered: a socket that appears between a look and a watch is told by neither of them. A registry that starts removes the sockets in its directory: before each try, make yours again where it is gone.',
    go: 'watcher.Add(pluginapi.DevicePluginPath) // first the watch, then the look\nfor wait := 250 * time.Millisecond; register(ctx) != nil; wait = min(2*wait, 30*time.Second) {\n\tselect {\n\tcase <-ctx.Done():\n\t\treturn ctx.Err()\n\tcase <-watcher.Events:\n\tcase <-time.After(wait):\n\t}\n}',
    python:
      'observer.start()  # first the watch, then the look\nwait = 0.25\nwhile not try_register():\n    changed.wait(timeout=wait)\n    wait = min(2 * wait, 30)',
  },
};
