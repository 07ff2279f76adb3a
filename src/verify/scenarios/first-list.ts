import { DEVICE_PLUGIN } from '../../model/ids.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';

/** Names that are shown of a plugin with many resources. */
const SHOWN = 3;

/** Does the plugin come up at all? */
export const firstList: Scenario = {
  name: 'first-list',
  does: 'starts the plugin and nothing else',
  passesWhen: 'there is a resource with devices within 10 s',
  doors: ANY_DOOR,
  seconds: 2,
  run: async (rig) => {
    const tookMs = await rig.comeUp();
    const all = rig.plugins.map(({ type, name, allocatable }) =>
      type === DEVICE_PLUGIN ? `${name} with ${allocatable} healthy devices` : `${name}, a ${type}`,
    );
    const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
    return `${all.slice(0, SHOWN).join(', ')}${more} ${seconds(tookMs)} after the start`;
  },
};
