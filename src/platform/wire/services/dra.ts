// The DRA plugin API in its two versions (proto/dra/v1/dra.proto, proto/dra/v1beta1/dra.proto). The messages of the
// older one lack only `shareId`, so one set of tables serves both.
import { message } from '../codec.js';
import { unary } from './method.js';

const PACKAGE = 'k8s.io.kubelet.pkg.apis.dra.';

/** The names by which a driver says in PluginInfo.supported_versions what it serves, best first. */
export const DRA_SERVICES = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const;

export const DraClaim = message(`${PACKAGE}v1.Claim`, {
  namespace: [1, 'string'],
  uid: [2, 'string'],
  name: [3, 'string'],
});
export const DraDevice = message(`${PACKAGE}v1.Device`, {
  requestNames: [1, 'repeated', 'string'],
  poolName: [2, 'string'],
  deviceName: [3, 'string'],
  cdiDeviceIds: [4, 'repeated', 'string'],
  shareId: [5, 'optional', 'string'],
});
export const NodePrepareResourcesRequest = message(`${PACKAGE}v1.NodePrepareResourcesRequest`, {
  claims: [1, 'repeated', DraClaim],
});
export const NodePrepareResourceResponse = message(`${PACKAGE}v1.NodePrepareResourceResponse`, {
  devices: [1, 'repeated', DraDevice],
  error: [2, 'string'],
});
export const NodePrepareResourcesResponse = message(`${PACKAGE}v1.NodePrepareResourcesResponse`, {
  claims: [1, 'map', NodePrepareResourceResponse],
});
export const NodeUnprepareResourcesRequest = message(`${PACKAGE}v1.NodeUnprepareResourcesRequest`, {
  claims: [1, 'repeated', DraClaim],
});
export const NodeUnprepareResourceResponse = message(`${PACKAGE}v1.NodeUnprepareResourceResponse`, {
  error: [1, 'string'],
});
export const NodeUnprepareResourcesResponse = message(`${PACKAGE}v1.NodeUnprepareResourcesResponse`, {
  claims: [1, 'map', NodeUnprepareResourceResponse],
});

const draPluginService = (version: string) => ({
  NodePrepareResources: unary(
    `/${PACKAGE}${version}.DRAPlugin/NodePrepareResources`,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
  ),
  NodeUnprepareResources: unary(
    `/${PACKAGE}${version}.DRAPlugin/NodeUnprepareResources`,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
  ),
});

/** Served by a driver of Kubernetes 1.34 or later. */
export const draPluginV1Service = draPluginService('v1');
/** Served by a driver of Kubernetes 1.32 or later. */
export const draPluginV1beta1Service = draPluginService('v1beta1');
