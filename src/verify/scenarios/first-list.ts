import { DEVICE_PLUGIN } from '../../model/ids.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds } from '../subject.js';
import { Failed } from '../verdict.js';

/** Names that are shown of a plugin with many resources. */
const SHOWN = 3;
/** Undisturbed it does nothing by itself for so long: one that restarts itself would pass other scenarios by chance. */
const QUIET_MS = 3_000;

/** Does the plugin come up at all, and stay? */
export const firstList: Scenario = {
  name: 'first-list',
  does: 'starts the plugin and nothing else',
  passesWhen: 'there is a resource with healthy devices within 10 s, and it stays so',
  doors: ANY_DOOR,
  seconds: 5,
  run: async (rig) => {
    const tookMs = await rig.comeUp(QUIET_MS);
    const empty = rig.plugins.find(({ type, allocatable }) => type === DEVICE_PLUGIN && allocatable === 0);
    if (empty !== undefined) throw new Failed('no-healthy-device', `${empty.name} has no healthy device any more`);
    const all = rig.plugins.map(({ type, name, allocatable }) =>
      type === DEVICE_PLUGIN ? `${name} with ${allocatable} healthy devices` : `${name}, a ${type}`,
    );
    const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
    return `${all.slice(0, SHOWN).join(', ')}${more} ${seconds(tookMs)} after the start`;
  },
  mend: {
    how: 'Serve first, then register: when Register is answered the registry has already called GetDevicePluginOptions and opens ListAndWatch at once. Send the whole list as the first message of every stream, with health `Healthy` (exactly this word), and keep the stream open. A plugin that restarts itself without a cause takes its devices away each time.',
    go: 'lis, err := net.Listen("unix", socket)\nsrv := grpc.NewServer()\npluginapi.RegisterDevicePluginServer(srv, plugin)\ngo srv.Serve(lis) // serves before it registers\nerr = register(ctx, kubeletSocket, filepath.Base(socket), resource)',
    python:
      'server.add_insecure_port(f"unix://{socket}")\nserver.start()  # serves before it registers\nregistration.Register(RegisterRequest(version="v1beta1", endpoint=basename(socket), resource_name=resource))',
  },
};
