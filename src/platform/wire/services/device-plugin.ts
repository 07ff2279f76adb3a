// The device plugin API, package v1beta1 (proto/deviceplugin/v1beta1/deviceplugin.proto).
import { message } from '../codec.js';
import type { Message } from '../table.js';
import { serverStream, unary } from './method.js';

/** The one version of the API that registers, exactly as plugins send it. */
export const DEVICE_PLUGIN_VERSION = 'v1beta1';

export const Empty = message('v1beta1.Empty', {});
export const DevicePluginOptions = message('v1beta1.DevicePluginOptions', {
  preStartRequired: [1, 'bool'],
  getPreferredAllocationAvailable: [2, 'bool'],
});
export const RegisterRequest = message('v1beta1.RegisterRequest', {
  version: [1, 'string'],
  endpoint: [2, 'string'],
  resourceName: [3, 'string'],
  options: [4, DevicePluginOptions],
});
export const NumaNode = message('v1beta1.NUMANode', { id: [1, 'int64'] });
export const TopologyInfo = message('v1beta1.TopologyInfo', { nodes: [1, 'repeated', NumaNode] });
export const DeviceMessage = message('v1beta1.Device', {
  id: [1, 'string'],
  health: [2, 'string'],
  topology: [3, TopologyInfo],
});
/** For senders and small lists; the broker reads lists with device-list.ts. */
export const ListAndWatchResponse = message('v1beta1.ListAndWatchResponse', {
  devices: [1, 'repeated', DeviceMessage],
});
export const PreStartContainerRequest = message('v1beta1.PreStartContainerRequest', {
  devicesIds: [1, 'repeated', 'string'],
});
export const PreStartContainerResponse = message('v1beta1.PreStartContainerResponse', {});
export const ContainerPreferredAllocationRequest = message('v1beta1.ContainerPreferredAllocationRequest', {
  availableDeviceIds: [1, 'repeated', 'string'],
  mustIncludeDeviceIds: [2, 'repeated', 'string'],
  allocationSize: [3, 'int32'],
});
export const PreferredAllocationRequest = message('v1beta1.PreferredAllocationRequest', {
  containerRequests: [1, 'repeated', ContainerPreferredAllocationRequest],
});
export const ContainerPreferredAllocationResponse = message('v1beta1.ContainerPreferredAllocationResponse', {
  deviceIds: [1, 'repeated', 'string'],
});
export const PreferredAllocationResponse = message('v1beta1.PreferredAllocationResponse', {
  containerResponses: [1, 'repeated', ContainerPreferredAllocationResponse],
});
export const ContainerAllocateRequest = message('v1beta1.ContainerAllocateRequest', {
  devicesIds: [1, 'repeated', 'string'],
});
export const AllocateRequest = message('v1beta1.AllocateRequest', {
  containerRequests: [1, 'repeated', ContainerAllocateRequest],
});
export const Mount = message('v1beta1.Mount', {
  containerPath: [1, 'string'],
  hostPath: [2, 'string'],
  readOnly: [3, 'bool'],
});
export const DeviceSpec = message('v1beta1.DeviceSpec', {
  containerPath: [1, 'string'],
  hostPath: [2, 'string'],
  permissions: [3, 'string'],
});
export const CdiDevice = message('v1beta1.CDIDevice', { name: [1, 'string'] });
export const ContainerAllocateResponse = message('v1beta1.ContainerAllocateResponse', {
  envs: [1, 'map', 'string'],
  mounts: [2, 'repeated', Mount],
  devices: [3, 'repeated', DeviceSpec],
  annotations: [4, 'map', 'string'],
  cdiDevices: [5, 'repeated', CdiDevice],
});
export const AllocateResponse = message('v1beta1.AllocateResponse', {
  containerResponses: [1, 'repeated', ContainerAllocateResponse],
});

/** What a plugin sends when it registers. */
export type RegisterRequest = Message<typeof RegisterRequest>;
/** What a plugin says of itself when it is dialled back. */
export type DevicePluginOptions = Message<typeof DevicePluginOptions>;

/** Served by the broker on kubelet.sock. */
export const registrationService = {
  Register: unary('/v1beta1.Registration/Register', RegisterRequest, Empty),
};

/** Served by a plugin on its socket. */
export const devicePluginService = {
  GetDevicePluginOptions: unary('/v1beta1.DevicePlugin/GetDevicePluginOptions', Empty, DevicePluginOptions),
  ListAndWatch: serverStream('/v1beta1.DevicePlugin/ListAndWatch', Empty, ListAndWatchResponse),
  GetPreferredAllocation: unary(
    '/v1beta1.DevicePlugin/GetPreferredAllocation',
    PreferredAllocationRequest,
    PreferredAllocationResponse,
  ),
  Allocate: unary('/v1beta1.DevicePlugin/Allocate', AllocateRequest, AllocateResponse),
  PreStartContainer: unary(
    '/v1beta1.DevicePlugin/PreStartContainer',
    PreStartContainerRequest,
    PreStartContainerResponse,
  ),
};
