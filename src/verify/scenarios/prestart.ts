import { answered, withDevices, type DeviceCaller } from '../device-calls.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { Failed, Skipped } from '../verdict.js';

/** The deadline of a kubelet for PreStartContainer; it has none for the other calls. */
const PRESTART_MS = 30_000;
const ASK_MS = 10_000;

/** The behaviour that the plugin's options promise. */
export const prestart: Scenario = {
  name: 'prestart',
  does: 'calls PreStartContainer and GetPreferredAllocation as its options promise',
  passesWhen: 'it answers within 30 s, and prefers the right number of available devices',
  doors: ANY_DOOR,
  isAboutDevices: true,
  seconds: 2,
  run: async (rig) => {
    await rig.comeUp();
    return withDevices(rig, async (caller) => {
      const { connection, healthy, signal } = caller;
      const asked = connection.options(ASK_MS, signal);
      const options = await answered('GetDevicePluginOptions', ASK_MS, asked);
      const seen: string[] = [];
      if (options.preStartRequired) {
        const call = connection.calls.preStart(healthy.slice(0, 1), PRESTART_MS, signal);
        await answered(`PreStartContainer of ${healthy[0] ?? ''}`, PRESTART_MS, call);
        seen.push('answered PreStartContainer');
      }
      if (options.preferredAllocationAvailable) seen.push(await preference(caller));
      if (seen.length === 0) throw new Skipped('it offers neither PreStartContainer nor GetPreferredAllocation');
      return seen.join(', and ');
    });
  },
  mend: {
    how: 'The calls that GetDevicePluginOptions asks for are made: PreStartContainer before each start of a container, within 30 s, and GetPreferredAllocation with the devices that are free. Choose only among those, include all that must be included, and give exactly as many as are asked for; with no preference give none.',
    go: 'chosen := append([]string{}, c.MustIncludeDeviceIDs...)\nfor _, id := range c.AvailableDeviceIDs {\n\tif len(chosen) == int(c.AllocationSize) {\n\t\tbreak\n\t}\n\tif !slices.Contains(chosen, id) {\n\t\tchosen = append(chosen, id)\n\t}\n}',
    python:
      'chosen = list(c.must_include_deviceIDs)\nchosen += [i for i in c.available_deviceIDs if i not in chosen]\nreturn chosen[: c.allocation_size]',
  },
};

async function preference({ connection, healthy, signal }: DeviceCaller): Promise<string> {
  const size = Math.min(2, healthy.length);
  const mustInclude = healthy.slice(-1);
  const call = connection.calls.preferred({ available: healthy, mustInclude, size }, ASK_MS, signal);
  const preferred = await answered('GetPreferredAllocation', ASK_MS, call);
  if (preferred.length === 0) return 'has no preference among its devices';
  const wrong = (what: string): Failed =>
    new Failed('wrong-answer', `GetPreferredAllocation ${what}: ${preferred.slice(0, 5).join(', ')}`);
  if (new Set(preferred).size !== preferred.length) throw wrong('names a device twice');
  if (preferred.some((id) => !healthy.includes(id))) throw wrong('names a device that is not available');
  if (preferred.length !== size) throw wrong(`was asked for ${size} and names ${preferred.length}`);
  if (!mustInclude.every((id) => preferred.includes(id)))
    throw wrong(`leaves out ${mustInclude.join(', ')}, which must be included`);
  return `named ${size} devices that are available when it was asked for its preference`;
}
