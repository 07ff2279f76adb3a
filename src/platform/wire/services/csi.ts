// The part of the CSI API that registration uses, package csi.v1 (proto/csi/v1/csi.proto).
import { message } from '../codec.js';
import type { Message } from '../table.js';
import { unary } from './method.js';

export const GetPluginInfoRequest = message('csi.v1.GetPluginInfoRequest', {});
export const GetPluginInfoResponse = message('csi.v1.GetPluginInfoResponse', {
  name: [1, 'string'],
  vendorVersion: [2, 'string'],
  manifest: [3, 'map', 'string'],
});
export const PluginService = message('csi.v1.PluginCapability.Service', { type: [1, 'enum'] });
export const PluginVolumeExpansion = message('csi.v1.PluginCapability.VolumeExpansion', { type: [1, 'enum'] });
/** One of `service` and `volumeExpansion` is set. */
export const PluginCapability = message('csi.v1.PluginCapability', {
  service: [1, PluginService],
  volumeExpansion: [2, PluginVolumeExpansion],
});
export const GetPluginCapabilitiesRequest = message('csi.v1.GetPluginCapabilitiesRequest', {});
export const GetPluginCapabilitiesResponse = message('csi.v1.GetPluginCapabilitiesResponse', {
  capabilities: [1, 'repeated', PluginCapability],
});
export const BoolValue = message('google.protobuf.BoolValue', { value: [1, 'bool'] });
export const ProbeRequest = message('csi.v1.ProbeRequest', {});
/** An absent `ready` means ready. */
export const ProbeResponse = message('csi.v1.ProbeResponse', { ready: [1, BoolValue] });
export const Topology = message('csi.v1.Topology', { segments: [1, 'map', 'string'] });
export const NodeGetInfoRequest = message('csi.v1.NodeGetInfoRequest', {});
/** `maxVolumesPerNode` is a bigint because drivers send the largest number there is for "no limit". */
export const NodeGetInfoResponse = message('csi.v1.NodeGetInfoResponse', {
  nodeId: [1, 'string'],
  maxVolumesPerNode: [2, 'bigint'],
  accessibleTopology: [3, Topology],
});
export const NodeRpc = message('csi.v1.NodeServiceCapability.RPC', { type: [1, 'enum'] });
export const NodeServiceCapability = message('csi.v1.NodeServiceCapability', { rpc: [1, NodeRpc] });
export const NodeGetCapabilitiesRequest = message('csi.v1.NodeGetCapabilitiesRequest', {});
export const NodeGetCapabilitiesResponse = message('csi.v1.NodeGetCapabilitiesResponse', {
  capabilities: [1, 'repeated', NodeServiceCapability],
});

/** What a driver says of the node it runs on. */
export type NodeGetInfoResponse = Message<typeof NodeGetInfoResponse>;

/** The Identity service of a driver. */
export const csiIdentityService = {
  GetPluginInfo: unary('/csi.v1.Identity/GetPluginInfo', GetPluginInfoRequest, GetPluginInfoResponse),
  GetPluginCapabilities: unary(
    '/csi.v1.Identity/GetPluginCapabilities',
    GetPluginCapabilitiesRequest,
    GetPluginCapabilitiesResponse,
  ),
  Probe: unary('/csi.v1.Identity/Probe', ProbeRequest, ProbeResponse),
};

/** The part of a driver's Node service that is asked at registration. */
export const csiNodeService = {
  NodeGetInfo: unary('/csi.v1.Node/NodeGetInfo', NodeGetInfoRequest, NodeGetInfoResponse),
  NodeGetCapabilities: unary(
    '/csi.v1.Node/NodeGetCapabilities',
    NodeGetCapabilitiesRequest,
    NodeGetCapabilitiesResponse,
  ),
};
