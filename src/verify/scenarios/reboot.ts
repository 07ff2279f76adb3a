import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { BrokerFault, Failed } from '../verdict.js';

/** As after any restart. */
const BACK_MS = 30_000;
/** Any other id will do. */
const OTHER_BOOT = '00000000-0000-4000-8000-000000000000';

/** The registry finds a checkpoint of another boot. */
export const reboot: Scenario = {
  name: 'reboot',
  does: 'stops the registry and starts it as after a reboot of the machine',
  passesWhen: 'nothing is served until it was asked, then it is back',
  doors: ANY_DOOR,
  seconds: 2,
  run: async (rig) => {
    await rig.comeUp();
    await rig.stopBroker();
    const mark = rig.witness.mark();
    const openedAt = await rig.startBroker({ bootId: OTHER_BOOT });
    const isBack = await rig.served(BACK_MS);
    const servedUnasked = rig.witness
      .picturesSince(mark)
      .slice(1)
      .flatMap(({ plugins }) => plugins)
      .find(({ state, allocatable }) => state === 'restored' && allocatable > 0);
    if (servedUnasked !== undefined) {
      throw new BrokerFault(
        `the broker served ${servedUnasked.name} from the checkpoint of another boot without asking it`,
      );
    }
    if (!isBack) throw new Failed('never-back', `it was not back within ${seconds(BACK_MS)}`);
    return `served ${seconds(Date.now() - openedAt)} after the registry's return, not before it had answered`;
  },
  mend: {
    how: 'After a reboot everything is asked again: answer GetDevicePluginOptions and send the first list as after any start, and do not rely on what an earlier life of the registry knew.',
    go: 'func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {\n\treturn &pluginapi.DevicePluginOptions{}, nil // at any time, any number of times\n}',
    python:
      'def GetDevicePluginOptions(self, request, context):\n    return DevicePluginOptions()  # at any time, any number of times',
  },
};
