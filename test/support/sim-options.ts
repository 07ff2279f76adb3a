// Options of simulators with all their defaults, for tests that start a simulation by themselves.
import { CSI_SIM_OPTIONS, type CsiSimOptions } from '../../src/sim/csi/options.js';
import { DEVICE_SIM_OPTIONS, type DeviceSimOptions } from '../../src/sim/device/options.js';
import { DRA_SIM_OPTIONS, type DraSimOptions } from '../../src/sim/dra/options.js';
import { defaultsOf } from '../../src/sim/sim-option.js';

/** Those of `sim device`. */
export function deviceSimOptions(
  given: Partial<DeviceSimOptions> & Pick<DeviceSimOptions, 'dir' | 'registry'>,
): DeviceSimOptions {
  return { ...(defaultsOf(DEVICE_SIM_OPTIONS) as unknown as DeviceSimOptions), ...given };
}

/** Those of `sim csi`. */
export function csiSimOptions(
  given: Partial<CsiSimOptions> & Pick<CsiSimOptions, 'plugins' | 'registry'>,
): CsiSimOptions {
  return { ...(defaultsOf(CSI_SIM_OPTIONS) as unknown as CsiSimOptions), ...given };
}

/** Those of `sim dra`. */
export function draSimOptions(
  given: Partial<DraSimOptions> & Pick<DraSimOptions, 'plugins' | 'registry'>,
): DraSimOptions {
  return { ...(defaultsOf(DRA_SIM_OPTIONS) as unknown as DraSimOptions), ...given };
}
