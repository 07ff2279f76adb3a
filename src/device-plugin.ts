// The package `plugin-broker/device-plugin`: a device plugin for authors; loads grpc-js and nothing of the broker.
export { serveDevicePlugin } from './device-plugin/serve-device-plugin.js';
export type {
  AllocateRequest,
  Allocation,
  CallContext,
  ContainerAllocation,
  Device,
  DevicePluginEvent,
  DevicePluginOptions,
  DevicePluginServer,
  Health,
  PreferredRequest,
} from './device-plugin/plugin-api.js';
