import { ANY_DOOR, type Scenario } from '../scenario.js';
import { COME_UP_MS } from '../rig.js';
import { seconds, times } from '../subject.js';
import { Failed } from '../verdict.js';

/** Register is refused for so long that calls without a pause show (`HOT_CALLS`). */
const REFUSED_MS = 5_000;
const BACK_MS = 35_000;
/** Five calls a second for the whole time: no pause worth the name between them. */
const HOT_CALLS = 25;

/** The registry has no time for the plugin now, and says when to come back. */
export const refuse: Scenario = {
  name: 'refuse',
  does: 'answers Register with RESOURCE_EXHAUSTED and RetryInfo for 5 s',
  passesWhen: 'it comes back within 35 s of the last refusal, and does not call in a hot loop',
  doors: ANY_DOOR,
  notByKubelets: 'a kubelet has no policy that refuses for a while',
  seconds: 8,
  run: async (rig) => {
    await rig.arrive({ faults: [{ kind: 'refuse', ms: REFUSED_MS }] });
    const start = { calls: 0, pictures: 0 };
    const refusals = (): number => rig.witness.callsSince(start).filter(({ fate }) => fate === 'refused').length;
    await rig.changes.until(() => refusals() > 0, COME_UP_MS);
    if (refusals() === 0)
      throw new Failed('never-back', `it did not register within ${seconds(COME_UP_MS)} of its start`);
    rig.note(`its first registration was refused, and so are all for ${seconds(REFUSED_MS)}`);
    await rig.served(REFUSED_MS + BACK_MS);
    const last = rig.witness.callsSince(start).findLast(({ fate }) => fate === 'refused');
    const refused = `was refused ${times(refusals())} within ${seconds(REFUSED_MS)}`;
    if (!rig.isServed())
      throw new Failed('never-back', `${refused}, and was not back ${seconds(BACK_MS)} after the last refusal`);
    const loudest = Math.max(
      ...[...rig.known.keys].map(
        (key) => rig.witness.callsSince(start, key).filter(({ fate }) => fate === 'refused').length,
      ),
    );
    if (loudest > HOT_CALLS)
      throw new Failed('storm', `${refused}: it calls in a hot loop and ignores the RetryInfo in the answer`);
    return `${refused}, and was served ${seconds(Date.now() - (last?.at ?? Date.now()))} after the last refusal`;
  },
  mend: {
    how: 'RESOURCE_EXHAUSTED says: not now. Wait as long as the RetryInfo in the details of the status says, or twice as long as the last time, and try again; do not exit, and do not call in a loop.',
    go: 'if st, ok := status.FromError(err); ok {\n\tfor _, d := range st.Details() {\n\t\tif info, ok := d.(*errdetails.RetryInfo); ok {\n\t\t\twait = info.RetryDelay.AsDuration()\n\t\t}\n\t}\n}\ntime.Sleep(wait + rand.N(wait/2)) // then Register again',
    python:
      'except grpc.RpcError as error:\n    if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:\n        time.sleep(retry_delay(error) or backoff.next())  # then Register again',
  },
};
