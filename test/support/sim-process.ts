// A simulated device plugin as a process of its own: node sim-process.js '{"dir":"/tmp/x", …}'
import type { DeviceSimOptions } from '../../src/sim/device/options.js';
import { runDeviceSim } from '../../src/sim/device/run-device-sim.js';
import { deviceSimOptions } from './sim-options.js';

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const given = JSON.parse(process.argv[2] ?? '') as Partial<DeviceSimOptions> & { readonly dir: string };
process.exitCode = await runDeviceSim(deviceSimOptions({ registry: given.dir, ...given }), stop.signal);
