// `sim csi`: a CSI driver that behaves as its options say.
import path from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { Faults } from '../device/faults.js';
import { driverProcess, liveAsDriver, type Driver, type DriverProcess, type DriverVoice } from '../driver-life.js';
import { loadServices } from '../protos.js';
import { attachRegistration, disturbed, type ServiceHooks } from '../registration-service.js';
import type { CsiSimOptions } from './options.js';

/**
 * Runs a simulated CSI driver until the signal aborts or it ends by itself. It logs its actions and observations on standard
 * output, one JSON object a line.
 *
 * @returns the exit code: 0, the one of its options, or 1 when it gave up
 */
export function runCsiSim(
  options: CsiSimOptions,
  signal: AbortSignal,
  around: DriverProcess = driverProcess(),
): Promise<number> {
  return liveAsDriver((voice) => csiDriver(options, voice), options, signal, around);
}

function csiDriver(options: CsiSimOptions, voice: DriverVoice): Driver {
  const { driver, plugins, registry, pluginType, apiVersion } = options;
  const hooks: ServiceHooks = { faults: new Faults(options.fault), say: voice.say };
  const socket = options.socket ?? path.join(plugins, driver, 'csi.sock');
  const info = {
    type: pluginType,
    name: driver,
    endpoint: options.endpoint ?? socket,
    supportedVersions: apiVersion.split(','),
  };
  return {
    service: { path: socket, attach: (server) => attachCsi(server, options, hooks) },
    registration: options.register
      ? {
          path: path.join(registry, `${driver}-reg.sock`),
          attach: (server) =>
            attachRegistration(server, hooks, { info, onRefusal: 'answer', onNotifyFalse: voice.refused }),
        }
      : undefined,
  };
}

function attachCsi(server: Server, options: CsiSimOptions, hooks: ServiceHooks): void {
  const api = loadServices('csi/v1/csi.proto', {
    'csi.v1.Identity': ['GetPluginInfo', 'GetPluginCapabilities', 'Probe'],
    'csi.v1.Node': ['NodeGetInfo', 'NodeGetCapabilities'],
  });
  const { driver, vendorVersion, nodeId, nodeIdBytes, maxVolumes, topology, notReady } = options;
  const hasTopology = Object.keys(topology).length > 0;
  const node = {
    nodeId: nodeId.padEnd(nodeIdBytes, '.'),
    maxVolumesPerNode: maxVolumes,
    ...(hasTopology ? { accessibleTopology: { segments: topology } } : {}),
  };
  // A driver with topology reports VOLUME_ACCESSIBILITY_CONSTRAINTS.
  const capabilities = hasTopology ? [{ service: { type: 2 } }] : [];
  server.addService(api['csi.v1.Identity'], {
    GetPluginInfo: disturbed('GetPluginInfo', hooks, () => ({ name: driver, vendorVersion })),
    GetPluginCapabilities: disturbed('GetPluginCapabilities', hooks, () => ({ capabilities })),
    Probe: disturbed('Probe', hooks, () => ({ ready: { value: !notReady } })),
  });
  server.addService(api['csi.v1.Node'], {
    NodeGetInfo: disturbed('NodeGetInfo', hooks, () => node),
    NodeGetCapabilities: disturbed('NodeGetCapabilities', hooks, () => ({ capabilities: [] })),
  });
}
