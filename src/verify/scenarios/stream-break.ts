import { ANY_DOOR, type Scenario } from '../scenario.js';
import { endOf, times } from '../subject.js';
import { Failed } from '../verdict.js';

/** Contract 13. */
const TIMES = 20;
const LIST_MS = 10_000;
/** All of it: each break may take its whole time before it counts as a hang. */
const ALL_MS = TIMES * LIST_MS;

/** The registry's end of ListAndWatch goes away again and again. */
export const streamBreak: Scenario = {
  name: 'stream-break',
  does: 'cancels ListAndWatch 20 times and opens it again on a new connection',
  passesWhen: 'its devices come each time, without a crash or a hang',
  doors: ANY_DOOR,
  isAboutDevices: true,
  seconds: 5,
  run: async (rig) => {
    await rig.comeUp();
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
      // Whether it died of it is known a moment after its connection ended.
      await rig.changes.until(() => rig.subject.ends.length > ends, 500);
      const end = rig.subject.ends[ends];
      const why = end === undefined ? bad.failure : `it ended ${endOf(end)}`;
      throw new Failed(`after ${bad.times + 1} of ${TIMES} cancelled streams: ${why}`);
    }
    if (broken.length < rig.known.keys.size) throw new Failed(`its streams were not back after ${ALL_MS / 1000} s`);
    const slowest = Math.max(...broken.map(({ slowestMs }) => slowestMs));
    return `its devices came ${times(TIMES)}, the slowest list ${Math.ceil(slowest)} ms after its stream was opened`;
  },
};
