import type { Rig } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { unlinkSockets } from '../sockets.js';
import { endOf, seconds, times } from '../subject.js';
import { Failed } from '../verdict.js';

const TIMES = 20;
const LIST_MS = 10_000;
/** All of it: each break may take its whole time before it counts as a hang. */
const ALL_MS = TIMES * LIST_MS;
/** A plugin that changed its list by itself before does so again within this. */
const CHANGE_MS = 10_000;
/** Plugins that look for their socket every few seconds have looked by then. */
const NOTICED_MS = 15_000;
/** Whether it died of something is known this long after its connection ended. */
const DEATH_MS = 500;

/** The registry's end of ListAndWatch goes away again and again. */
export const streamBreak: Scenario = {
  name: 'stream-break',
  does: 'cancels ListAndWatch 20 times and opens it again, then removes its socket and stops it',
  passesWhen: 'its devices come each time, changes arrive, and nothing crashes or hangs afterwards',
  doors: ANY_DOOR,
  isAboutDevices: true,
  notByKubelets: 'a kubelet opens the list of one registration once',
  seconds: 9,
  run: async (rig) => {
    await rig.comeUp();
    const start = { calls: 0, pictures: 0 };
    const changesByItself = rig.countsSince(start) > 1;
    const slowestMs = await breakStreams(rig);
    const untested: string[] = [];
    if (!changesByItself) untested.push('whether a change of its list still arrives, because it never made one');
    else await changeArrives(rig);
    if (!rig.subject.isOurs) untested.push('how it ends, because it is not ours to stop');
    const wasNoticed = await comesBack(rig);
    if (!wasNoticed) untested.push('what it does when its socket is removed, because it does not notice that at all');
    if (rig.subject.isOurs) await endsWell(rig);
    const rest = untested.length === 0 ? '' : `; not tested: ${untested.join('; ')}`;
    return `its devices came ${times(TIMES)}, the slowest list ${Math.ceil(slowestMs)} ms after its stream was opened${rest}`;
  },
  mend: {
    how: 'The handler of ListAndWatch has to end when its stream ends, and must not share what it reads from with another stream: two handlers that read one channel share its updates between them, and a channel that is closed by each of them panics. Wait for the end of the stream in the same select.',
    go: 'func (p *plugin) ListAndWatch(_ *pluginapi.Empty, s pluginapi.DevicePlugin_ListAndWatchServer) error {\n\tupdates, cancel := p.state.Subscribe() // a channel for this stream alone\n\tdefer cancel()                         // closed once, by its maker\n\tfor {\n\t\tselect {\n\t\tcase <-s.Context().Done():\n\t\t\treturn nil\n\t\tcase list := <-updates:\n\t\t\tif err := s.Send(list); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t}\n\t}\n}',
    python:
      'def ListAndWatch(self, request, context):\n    updates = self.state.subscribe()  # a queue for this stream alone\n    context.add_callback(lambda: self.state.unsubscribe(updates))\n    while context.is_active():\n        try:\n            yield updates.get(timeout=1)\n        except queue.Empty:\n            pass',
  },
};

/** @returns the longest wait for a list */
async function breakStreams(rig: Rig): Promise<number> {
  const { broken } = rig.witness;
  const ends = rig.subject.ends.length;
  broken.length = 0;
  rig.broker.order([{ kind: 'stream-break', times: TIMES, listWithinMs: LIST_MS }]);
  rig.note(`cancels each list stream ${times(TIMES)}`);
  const isOver = (): boolean =>
    broken.length >= rig.known.keys.size || broken.some(({ failure }) => failure !== undefined);
  await rig.changes.until(isOver, ALL_MS);
  const bad = broken.find(({ failure }) => failure !== undefined);
  if (bad?.failure !== undefined) {
    await rig.changes.until(() => rig.subject.ends.length > ends, DEATH_MS);
    const end = rig.subject.ends[ends];
    const why = end === undefined ? bad.failure : `it ended ${endOf(end)}`;
    throw new Failed(
      end === undefined ? 'hung' : 'crashed',
      `after ${bad.times + 1} of ${TIMES} cancelled streams: ${why}`,
    );
  }
  if (broken.length < rig.known.keys.size)
    throw new Failed('hung', `its streams were not back after ${ALL_MS / 1000} s`);
  return Math.max(...broken.map(({ slowestMs }) => slowestMs));
}

/** A handler that was left behind takes updates away from the one whose stream is open. */
async function changeArrives(rig: Rig): Promise<void> {
  const mark = rig.witness.mark();
  if ((await rig.changes.until(() => rig.countsSince(mark) > 1, CHANGE_MS)) !== undefined) return;
  throw new Failed(
    'hung',
    `it changed its list by itself before its streams were broken, and no change arrived within ${seconds(CHANGE_MS)} afterwards`,
  );
}

/**
 * Removes its socket: a broken handler is found when its server stops or starts anew.
 *
 * @returns whether the plugin noticed at all
 */
async function comesBack(rig: Rig): Promise<boolean> {
  if (await isBackWithoutSocket(rig)) return true;
  if (!rig.subject.isOurs) return false;
  // The same to one whose streams were not broken: only if that one comes back, the breaks did it.
  rig.note('starts it afresh, to see whether it notices the removal of its socket at all');
  await rig.arrive();
  await rig.comeUp();
  if (!(await isBackWithoutSocket(rig))) return false;
  throw new Failed(
    'hung',
    `it did not come back within ${seconds(NOTICED_MS)} when its socket was removed after its streams had been broken; one whose streams were not broken does`,
  );
}

/** Removes its socket. @returns whether it came back within the time @throws Failed when it crashes */
async function isBackWithoutSocket(rig: Rig): Promise<boolean> {
  const before = rig.plugins;
  const { written } = rig.subject;
  const ends = rig.subject.ends.length;
  unlinkSockets(rig.directories, before);
  rig.note('removed its socket');
  await rig.changes.until(() => rig.isRenewed(before) || rig.subject.ends.length > ends, NOTICED_MS);
  await rig.changes.until(() => rig.subject.ends.length > ends, DEATH_MS);
  const end = rig.subject.ends[ends];
  const crash = rig.subject.crashSince(written);
  if (end !== undefined && (crash !== undefined || end.signal !== undefined)) {
    const words = crash === undefined ? '' : `: ${crash}`;
    throw new Failed(
      'crashed',
      `it ended ${endOf(end)} when its socket was removed after its streams had been broken${words}`,
    );
  }
  return end === undefined ? rig.isRenewed(before) : rig.served(NOTICED_MS);
}

/** Stops it: a handler that is closed twice is found then. */
async function endsWell(rig: Rig): Promise<void> {
  const { subject } = rig;
  const { written } = subject;
  rig.note('stops it with SIGTERM');
  await subject.stop();
  const crash = subject.crashSince(written);
  if (crash === undefined) return;
  throw new Failed('crashed', `it crashed when it was stopped after its streams had been broken: ${crash}`);
}
