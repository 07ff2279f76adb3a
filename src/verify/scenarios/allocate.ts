import { allocateOnce, withDevices, type DeviceCaller } from '../device-calls.js';
import type { Rig } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { endOf, lastWords, seconds } from '../subject.js';
import { Failed, Skipped } from '../verdict.js';

/** As long as the broker waits for it (timeouts.allocate); a kubelet waits for ever, and with it all pods of its node. */
const ALLOCATE_MS = 10_000;
const AT_ONCE = 20;
/** No plugin has a device of this name. */
const UNKNOWN = 'plugin-broker-verify-unknown';
const BACK_MS = 30_000;
/** A plugin that makes its socket anew has registered it by then. */
const RENEWED_MS = 5_000;

/** Devices are given to containers. */
export const allocate: Scenario = {
  name: 'allocate',
  does: 'calls Allocate: twice, after a restart of the registry, for an unknown id, 20 at once',
  passesWhen: 'answers mean the same each time, an unknown id is refused, and nothing crashes',
  doors: ANY_DOOR,
  isAboutDevices: true,
  seconds: 4,
  run: async (rig) => {
    await rig.comeUp();
    const ends = rig.subject.ends.length;
    const { ids, meaning } = await withDevices(rig, (caller) => firstAnswers(rig, caller));
    await rig.stopBroker();
    await rig.startBroker();
    if (!(await rig.served(BACK_MS))) {
      throw new Failed('never-back', `it was not served within ${seconds(BACK_MS)} of the registry's return`);
    }
    return whereItStays(rig, async (caller) => {
      if ((await allocated(caller, ids)) !== meaning) {
        throw new Failed(
          'wrong-answer',
          `after a restart of the registry Allocate of ${ids.join(', ')} means something else`,
        );
      }
      await unknownIsRefused(rig, caller);
      await Promise.all(Array.from({ length: AT_ONCE }, () => allocated(caller, ids.slice(0, 1))));
      await rig.pass(200);
      const end = rig.subject.ends[ends];
      if (end !== undefined) {
        throw new Failed('crashed', `it ended ${endOf(end)} when its devices were given away${lastWords(rig.subject)}`);
      }
      return `answered for ${ids.join(' and ')} with the same meaning three times, and ${AT_ONCE} calls at once`;
    });
  },
  mend: {
    how: 'Allocate is called again for devices that were given before: after a restart of the kubelet or of the container. Answer from the ids alone, without counting calls or remembering who had them, refuse ids that are not in your list, and answer at once: while you do, no other pod of the node starts.',
    go: 'for _, id := range container.DevicesIds {\n\tdev, ok := p.state.Lookup(id)\n\tif !ok {\n\t\treturn nil, status.Errorf(codes.NotFound, "no device %q", id)\n\t}\n\tresp.Devices = append(resp.Devices, &pluginapi.DeviceSpec{HostPath: dev.Path, ContainerPath: dev.Path, Permissions: "rw"})\n}',
    python:
      'for device_id in container.devicesIDs:\n    device = self.devices.get(device_id)\n    if device is None:\n        context.abort(grpc.StatusCode.NOT_FOUND, f"no device {device_id}")\n    response.devices.add(host_path=device.path, container_path=device.path, permissions="rw")',
  },
};

/**
 * Works with the devices as a kubelet does, which calls the socket that registered last: many plugins make theirs anew when
 * kubelet.sock is, and what failed at the old one says nothing.
 */
async function whereItStays<T>(rig: Rig, work: (caller: DeviceCaller) => Promise<T>): Promise<T> {
  const untilMs = Date.now() + BACK_MS;
  for (;;) {
    const before = rig.plugins;
    try {
      return await withDevices(rig, work);
    } catch (failure) {
      const isOver = !(failure instanceof Failed) || Date.now() > untilMs;
      if (isOver || (await rig.changes.until(() => rig.isRenewed(before), RENEWED_MS)) === undefined) throw failure;
    }
  }
}

/**
 * @returns the meaning of the answer
 * @throws Failed when it was refused, although an earlier one was not
 */
async function allocated(caller: DeviceCaller, ids: readonly string[]): Promise<string> {
  const found = await allocateOnce(caller, ids, ALLOCATE_MS);
  if ('answer' in found) return found.answer;
  if (found.isLate) throw hung(ids);
  throw new Failed(
    'wrong-answer',
    `Allocate of ${ids.join(', ')} was answered before, and was refused now: ${found.words}`,
  );
}

async function firstAnswers(rig: Rig, caller: DeviceCaller): Promise<{ ids: readonly string[]; meaning: string }> {
  const ids = caller.healthy.slice(0, 2);
  rig.note(`calls Allocate of ${caller.resource} for ${ids.join(', ')}`);
  const first = await allocateOnce(caller, ids, ALLOCATE_MS);
  if (!('answer' in first)) {
    if (first.isLate) throw hung(ids);
    throw new Skipped(`its first Allocate was refused, perhaps for want of something that is not here: ${first.words}`);
  }
  if ((await allocated(caller, ids)) !== first.answer) {
    throw new Failed('wrong-answer', `Allocate of ${ids.join(', ')} means something else the second time`);
  }
  return { ids, meaning: first.answer };
}

/** A kubelet asks only for listed ids. */
async function unknownIsRefused({ profile }: Rig, caller: DeviceCaller): Promise<void> {
  if (profile === 'kubelet') return;
  const found = await allocateOnce(caller, [UNKNOWN], ALLOCATE_MS);
  if ('answer' in found)
    throw new Failed('wrong-answer', `it answered Allocate of an unknown id as if it had that device`);
  if (found.isLate) throw hung([UNKNOWN]);
}

function hung(ids: readonly string[]): Failed {
  return new Failed('hung', `Allocate of ${ids.join(', ')} was not answered within ${seconds(ALLOCATE_MS)}`);
}
