// The wire formats that plugins in the field were built with, as one line a message and one line a call. Nothing here may
// ever change: a difference means that plugins no longer understand us.

/** Package and message, then each field as name=number:type. */
export const MESSAGES = `
csi.v1.GetPluginCapabilitiesRequest:
csi.v1.GetPluginCapabilitiesResponse: capabilities=1:repeated PluginCapability
csi.v1.GetPluginInfoRequest:
csi.v1.GetPluginInfoResponse: name=1:string vendor_version=2:string manifest=3:map<string,string>
csi.v1.NodeGetCapabilitiesRequest:
csi.v1.NodeGetCapabilitiesResponse: capabilities=1:repeated NodeServiceCapability
csi.v1.NodeGetInfoRequest:
csi.v1.NodeGetInfoResponse: node_id=1:string max_volumes_per_node=2:int64 accessible_topology=3:Topology
csi.v1.NodeServiceCapability: rpc=1:RPC
csi.v1.NodeServiceCapability.RPC: type=1:Type
csi.v1.PluginCapability: service=1:Service volume_expansion=2:VolumeExpansion
csi.v1.PluginCapability.Service: type=1:Type
csi.v1.PluginCapability.VolumeExpansion: type=1:Type
csi.v1.ProbeRequest:
csi.v1.ProbeResponse: ready=1:google.protobuf.BoolValue
csi.v1.Topology: segments=1:map<string,string>
grpc.health.v1.HealthCheckRequest: service=1:string
grpc.health.v1.HealthCheckResponse: status=1:ServingStatus
grpc.reflection.v1.ErrorResponse: error_code=1:int32 error_message=2:string
grpc.reflection.v1.ExtensionNumberResponse: base_type_name=1:string extension_number=2:repeated int32
grpc.reflection.v1.ExtensionRequest: containing_type=1:string extension_number=2:int32
grpc.reflection.v1.FileDescriptorResponse: file_descriptor_proto=1:repeated bytes
grpc.reflection.v1.ListServiceResponse: service=1:repeated ServiceResponse
grpc.reflection.v1.ServerReflectionRequest: host=1:string file_by_filename=3:string file_containing_symbol=4:string file_containing_extension=5:ExtensionRequest all_extension_numbers_of_type=6:string list_services=7:string
grpc.reflection.v1.ServerReflectionResponse: valid_host=1:string original_request=2:ServerReflectionRequest file_descriptor_response=4:FileDescriptorResponse all_extension_numbers_response=5:ExtensionNumberResponse list_services_response=6:ListServiceResponse error_response=7:ErrorResponse
grpc.reflection.v1.ServiceResponse: name=1:string
grpc.reflection.v1alpha.ErrorResponse: error_code=1:int32 error_message=2:string
grpc.reflection.v1alpha.ExtensionNumberResponse: base_type_name=1:string extension_number=2:repeated int32
grpc.reflection.v1alpha.ExtensionRequest: containing_type=1:string extension_number=2:int32
grpc.reflection.v1alpha.FileDescriptorResponse: file_descriptor_proto=1:repeated bytes
grpc.reflection.v1alpha.ListServiceResponse: service=1:repeated ServiceResponse
grpc.reflection.v1alpha.ServerReflectionRequest: host=1:string file_by_filename=3:string file_containing_symbol=4:string file_containing_extension=5:ExtensionRequest all_extension_numbers_of_type=6:string list_services=7:string
grpc.reflection.v1alpha.ServerReflectionResponse: valid_host=1:string original_request=2:ServerReflectionRequest file_descriptor_response=4:FileDescriptorResponse all_extension_numbers_response=5:ExtensionNumberResponse list_services_response=6:ListServiceResponse error_response=7:ErrorResponse
grpc.reflection.v1alpha.ServiceResponse: name=1:string
k8s.io.kubelet.pkg.apis.dra.v1.Claim: namespace=1:string uid=2:string name=3:string
k8s.io.kubelet.pkg.apis.dra.v1.Device: request_names=1:repeated string pool_name=2:string device_name=3:string cdi_device_ids=4:repeated string share_id=5:optional string
k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourceResponse: devices=1:repeated Device error=2:string
k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourcesRequest: claims=1:repeated Claim
k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourcesResponse: claims=1:map<string,NodePrepareResourceResponse>
k8s.io.kubelet.pkg.apis.dra.v1.NodeUnprepareResourceResponse: error=1:string
k8s.io.kubelet.pkg.apis.dra.v1.NodeUnprepareResourcesRequest: claims=1:repeated Claim
k8s.io.kubelet.pkg.apis.dra.v1.NodeUnprepareResourcesResponse: claims=1:map<string,NodeUnprepareResourceResponse>
k8s.io.kubelet.pkg.apis.dra.v1beta1.Claim: namespace=1:string uid=2:string name=3:string
k8s.io.kubelet.pkg.apis.dra.v1beta1.Device: request_names=1:repeated string pool_name=2:string device_name=3:string cdi_device_ids=4:repeated string
k8s.io.kubelet.pkg.apis.dra.v1beta1.NodePrepareResourceResponse: devices=1:repeated Device error=2:string
k8s.io.kubelet.pkg.apis.dra.v1beta1.NodePrepareResourcesRequest: claims=1:repeated Claim
k8s.io.kubelet.pkg.apis.dra.v1beta1.NodePrepareResourcesResponse: claims=1:map<string,NodePrepareResourceResponse>
k8s.io.kubelet.pkg.apis.dra.v1beta1.NodeUnprepareResourceResponse: error=1:string
k8s.io.kubelet.pkg.apis.dra.v1beta1.NodeUnprepareResourcesRequest: claims=1:repeated Claim
k8s.io.kubelet.pkg.apis.dra.v1beta1.NodeUnprepareResourcesResponse: claims=1:map<string,NodeUnprepareResourceResponse>
pluginregistration.InfoRequest:
pluginregistration.PluginInfo: type=1:string name=2:string endpoint=3:string supported_versions=4:repeated string
pluginregistration.RegistrationStatus: plugin_registered=1:bool error=2:string
pluginregistration.RegistrationStatusResponse:
v1.AllocatableResourcesRequest:
v1.AllocatableResourcesResponse: devices=1:repeated ContainerDevices cpu_ids=2:repeated int64 memory=3:repeated ContainerMemory
v1.CDIDevice: name=1:string
v1.ClaimResource: cdi_devices=1:repeated CDIDevice driver_name=2:string pool_name=3:string device_name=4:string share_id=5:optional string
v1.ContainerDevices: resource_name=1:string device_ids=2:repeated string topology=3:TopologyInfo
v1.ContainerMemory: memory_type=1:string size=2:uint64 topology=3:TopologyInfo
v1.ContainerResources: name=1:string devices=2:repeated ContainerDevices cpu_ids=3:repeated int64 memory=4:repeated ContainerMemory dynamic_resources=5:repeated DynamicResource
v1.DynamicResource: claim_name=2:string claim_namespace=3:string claim_resources=4:repeated ClaimResource
v1.GetPodResourcesRequest: pod_name=1:string pod_namespace=2:string
v1.GetPodResourcesResponse: pod_resources=1:PodResources
v1.ListPodResourcesRequest:
v1.ListPodResourcesResponse: pod_resources=1:repeated PodResources
v1.NUMANode: ID=1:int64
v1.PodResources: name=1:string namespace=2:string containers=3:repeated ContainerResources
v1.TopologyInfo: nodes=1:repeated NUMANode
v1alpha1.ContainerDevices: resource_name=1:string device_ids=2:repeated string
v1alpha1.ContainerResources: name=1:string devices=2:repeated ContainerDevices
v1alpha1.ListPodResourcesRequest:
v1alpha1.ListPodResourcesResponse: pod_resources=1:repeated PodResources
v1alpha1.PodResources: name=1:string namespace=2:string containers=3:repeated ContainerResources
v1beta1.AllocateRequest: container_requests=1:repeated ContainerAllocateRequest
v1beta1.AllocateResponse: container_responses=1:repeated ContainerAllocateResponse
v1beta1.CDIDevice: name=1:string
v1beta1.ContainerAllocateRequest: devices_ids=1:repeated string
v1beta1.ContainerAllocateResponse: envs=1:map<string,string> mounts=2:repeated Mount devices=3:repeated DeviceSpec annotations=4:map<string,string> cdi_devices=5:repeated CDIDevice
v1beta1.ContainerPreferredAllocationRequest: available_deviceIDs=1:repeated string must_include_deviceIDs=2:repeated string allocation_size=3:int32
v1beta1.ContainerPreferredAllocationResponse: deviceIDs=1:repeated string
v1beta1.Device: ID=1:string health=2:string topology=3:TopologyInfo
v1beta1.DevicePluginOptions: pre_start_required=1:bool get_preferred_allocation_available=2:bool
v1beta1.DeviceSpec: container_path=1:string host_path=2:string permissions=3:string
v1beta1.Empty:
v1beta1.ListAndWatchResponse: devices=1:repeated Device
v1beta1.Mount: container_path=1:string host_path=2:string read_only=3:bool
v1beta1.NUMANode: ID=1:int64
v1beta1.PreStartContainerRequest: devices_ids=1:repeated string
v1beta1.PreStartContainerResponse:
v1beta1.PreferredAllocationRequest: container_requests=1:repeated ContainerPreferredAllocationRequest
v1beta1.PreferredAllocationResponse: container_responses=1:repeated ContainerPreferredAllocationResponse
v1beta1.RegisterRequest: version=1:string endpoint=2:string resource_name=3:string options=4:DevicePluginOptions
v1beta1.TopologyInfo: nodes=1:repeated NUMANode
`;

/** Full path of a call, its request and its response. */
export const CALLS = `
/csi.v1.Identity/GetPluginCapabilities: csi.v1.GetPluginCapabilitiesRequest -> csi.v1.GetPluginCapabilitiesResponse
/csi.v1.Identity/GetPluginInfo: csi.v1.GetPluginInfoRequest -> csi.v1.GetPluginInfoResponse
/csi.v1.Identity/Probe: csi.v1.ProbeRequest -> csi.v1.ProbeResponse
/csi.v1.Node/NodeGetCapabilities: csi.v1.NodeGetCapabilitiesRequest -> csi.v1.NodeGetCapabilitiesResponse
/csi.v1.Node/NodeGetInfo: csi.v1.NodeGetInfoRequest -> csi.v1.NodeGetInfoResponse
/grpc.health.v1.Health/Check: grpc.health.v1.HealthCheckRequest -> grpc.health.v1.HealthCheckResponse
/grpc.health.v1.Health/Watch: grpc.health.v1.HealthCheckRequest -> stream grpc.health.v1.HealthCheckResponse
/grpc.reflection.v1.ServerReflection/ServerReflectionInfo: stream grpc.reflection.v1.ServerReflectionRequest -> stream grpc.reflection.v1.ServerReflectionResponse
/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo: stream grpc.reflection.v1alpha.ServerReflectionRequest -> stream grpc.reflection.v1alpha.ServerReflectionResponse
/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources: k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourcesRequest -> k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourcesResponse
/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources: k8s.io.kubelet.pkg.apis.dra.v1.NodeUnprepareResourcesRequest -> k8s.io.kubelet.pkg.apis.dra.v1.NodeUnprepareResourcesResponse
/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources: k8s.io.kubelet.pkg.apis.dra.v1beta1.NodePrepareResourcesRequest -> k8s.io.kubelet.pkg.apis.dra.v1beta1.NodePrepareResourcesResponse
/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources: k8s.io.kubelet.pkg.apis.dra.v1beta1.NodeUnprepareResourcesRequest -> k8s.io.kubelet.pkg.apis.dra.v1beta1.NodeUnprepareResourcesResponse
/pluginregistration.Registration/GetInfo: pluginregistration.InfoRequest -> pluginregistration.PluginInfo
/pluginregistration.Registration/NotifyRegistrationStatus: pluginregistration.RegistrationStatus -> pluginregistration.RegistrationStatusResponse
/v1.PodResourcesLister/Get: v1.GetPodResourcesRequest -> v1.GetPodResourcesResponse
/v1.PodResourcesLister/GetAllocatableResources: v1.AllocatableResourcesRequest -> v1.AllocatableResourcesResponse
/v1.PodResourcesLister/List: v1.ListPodResourcesRequest -> v1.ListPodResourcesResponse
/v1alpha1.PodResourcesLister/List: v1alpha1.ListPodResourcesRequest -> v1alpha1.ListPodResourcesResponse
/v1beta1.DevicePlugin/Allocate: v1beta1.AllocateRequest -> v1beta1.AllocateResponse
/v1beta1.DevicePlugin/GetDevicePluginOptions: v1beta1.Empty -> v1beta1.DevicePluginOptions
/v1beta1.DevicePlugin/GetPreferredAllocation: v1beta1.PreferredAllocationRequest -> v1beta1.PreferredAllocationResponse
/v1beta1.DevicePlugin/ListAndWatch: v1beta1.Empty -> stream v1beta1.ListAndWatchResponse
/v1beta1.DevicePlugin/PreStartContainer: v1beta1.PreStartContainerRequest -> v1beta1.PreStartContainerResponse
/v1beta1.Registration/Register: v1beta1.RegisterRequest -> v1beta1.Empty
`;
