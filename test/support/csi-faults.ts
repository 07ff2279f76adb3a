import { faultParser } from '../../src/sim/device/faults.js';

/** Reads a fault of a CSI driver: `GetPluginInfo=never`. */
export const parseFault = faultParser(['GetPluginInfo', 'NodeGetInfo', 'GetInfo', 'NotifyRegistrationStatus']);
