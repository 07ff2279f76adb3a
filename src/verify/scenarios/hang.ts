import { COME_UP_MS } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { endOf, seconds, times } from '../subject.js';
import { Failed } from '../verdict.js';

/** Register is answered as late as on a busy node, and within the 10 s that a plugin should allow it (`mend`). */
const HELD_MS = 9_000;
/** As after a refusal. */
const BACK_MS = 35_000;

/** The registry takes its time. */
export const hang: Scenario = {
  name: 'hang',
  does: 'answers Register only after 9 s',
  passesWhen: 'it waits or tries again, and does not crash',
  doors: ANY_DOOR,
  seconds: 11,
  run: async (rig) => {
    await rig.arrive({ faults: [{ kind: 'hang', ms: HELD_MS }] });
    const start = { calls: 0, pictures: 0 };
    const held = (): number => rig.witness.callsSince(start).filter(({ fate }) => fate === 'held').length;
    await rig.changes.until(() => held() > 0, COME_UP_MS);
    if (held() === 0) throw new Failed('never-back', `it did not register within ${seconds(COME_UP_MS)} of its start`);
    rig.note(`its registration is held for ${seconds(HELD_MS)}`);
    const heldAt = Date.now();
    await rig.changes.until(() => rig.isServed() || rig.subject.ends.length > 0, HELD_MS + BACK_MS);
    const [end] = rig.subject.ends;
    if (end !== undefined) throw new Failed('crashed', `it ended ${endOf(end)} while its registration was held`);
    if (!rig.isServed())
      throw new Failed(
        'never-back',
        `it was not served within ${seconds(HELD_MS + BACK_MS)} of a registration that took ${seconds(HELD_MS)}`,
      );
    const how = held() === rig.known.keys.size ? 'waited for the answer' : `called ${times(held())} meanwhile`;
    return `${how}, and was served ${seconds(Date.now() - heldAt)} after its first call`;
  },
  mend: {
    how: 'A busy node answers Register after seconds. Give the call a deadline of at least 10 s, and treat its end as a failed try: wait, then try again, with the server still running.',
    go: 'ctx, cancel := context.WithTimeout(parent, 15*time.Second)\ndefer cancel()\n_, err := client.Register(ctx, request) // err: wait and try again, do not exit',
    python:
      'try:\n    stub.Register(request, timeout=15)\nexcept grpc.RpcError:\n    schedule_retry()  # the server keeps running',
  },
};
