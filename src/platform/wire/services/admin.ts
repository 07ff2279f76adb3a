// The admin API, package pluginbroker.v1 (proto/pluginbroker/v1/admin.proto). The messages have the fields of
// model/views.ts in the same order, so that a view is encoded as it is and a decoded message prints like one.
import { message } from '../codec.js';
import { serverStream, unary } from './method.js';

export const Broker = message('pluginbroker.v1.Broker', {
  version: [1, 'string'],
  pid: [2, 'int64'],
  phase: [3, 'string'],
  startedAt: [4, 'string'],
  bootId: [5, 'string'],
  restoredPlugins: [6, 'int64'],
  problems: [7, 'repeated', 'string'],
});
export const Checkpoint = message('pluginbroker.v1.Checkpoint', {
  state: [1, 'string'],
  generation: [2, 'int64'],
  bytes: [3, 'int64'],
  lastWrite: [4, 'string'],
  reason: [5, 'string'],
});
export const Policy = message('pluginbroker.v1.Policy', {
  source: [1, 'string'],
  loadedAt: [2, 'string'],
  error: [3, 'string'],
});
export const PluginCounters = message('pluginbroker.v1.PluginCounters', {
  registrations: [1, 'int64'],
  rejected: [2, 'int64'],
  updates: [3, 'int64'],
  coalesced: [4, 'int64'],
  disconnects: [5, 'int64'],
  strikes: [6, 'int64'],
});
export const Plugin = message('pluginbroker.v1.Plugin', {
  type: [1, 'string'],
  name: [2, 'string'],
  primary: [3, 'bool'],
  state: [4, 'string'],
  reason: [5, 'string'],
  endpoint: [6, 'string'],
  socket: [7, 'string'],
  uid: [8, 'int64'],
  pid: [9, 'int64'],
  apiVersion: [10, 'string'],
  registeredAt: [11, 'string'],
  stateSince: [12, 'string'],
  resource: [13, 'string'],
  counters: [14, PluginCounters],
  quarantinedUntil: [15, 'string'],
});
export const Device = message('pluginbroker.v1.Device', {
  id: [1, 'string'],
  health: [2, 'string'],
  numaNodes: [3, 'repeated', 'int64'],
});
export const Resource = message('pluginbroker.v1.Resource', {
  name: [1, 'string'],
  plugin: [2, 'string'],
  state: [3, 'string'],
  capacity: [4, 'int64'],
  allocatable: [5, 'int64'],
  allocated: [6, 'int64'],
  devices: [7, 'repeated', Device],
  continues: [8, 'bool'],
});
export const Limit = message('pluginbroker.v1.Limit', {
  limit: [1, 'string'],
  plugin: [2, 'string'],
  uid: [3, 'int64'],
  mode: [4, 'string'],
  permits: [5, 'int64'],
  burst: [6, 'int64'],
  intervalMs: [7, 'int64'],
  nextInMs: [8, 'int64'],
  strikes: [9, 'int64'],
  quarantinedUntil: [10, 'string'],
  exceeded: [11, 'int64'],
  slowing: [12, 'string'],
  source: [13, 'string'],
});
export const Event = message('pluginbroker.v1.Event', {
  time: [1, 'string'],
  seq: [2, 'int64'],
  type: [3, 'string'],
  reason: [4, 'string'],
  plugin: [5, 'string'],
  socket: [6, 'string'],
  message: [7, 'string'],
});

export const StatusRequest = message('pluginbroker.v1.StatusRequest', { omitDevices: [1, 'bool'] });
export const StatusReply = message('pluginbroker.v1.StatusReply', {
  broker: [1, Broker],
  checkpoint: [2, Checkpoint],
  policy: [3, Policy],
  plugins: [4, 'repeated', Plugin],
  resources: [5, 'repeated', Resource],
});
export const ListPluginsRequest = message('pluginbroker.v1.ListPluginsRequest', { name: [1, 'string'] });
export const PluginPage = message('pluginbroker.v1.PluginPage', { plugins: [1, 'repeated', Plugin] });
export const ListResourcesRequest = message('pluginbroker.v1.ListResourcesRequest', {
  name: [1, 'string'],
  omitDevices: [2, 'bool'],
});
export const ResourcePage = message('pluginbroker.v1.ResourcePage', { resources: [1, 'repeated', Resource] });
export const ListLimitsRequest = message('pluginbroker.v1.ListLimitsRequest', { name: [1, 'string'] });
export const LimitPage = message('pluginbroker.v1.LimitPage', { limits: [1, 'repeated', Limit] });
export const EventsRequest = message('pluginbroker.v1.EventsRequest', {
  since: [1, 'int64'],
  plugin: [2, 'string'],
  follow: [3, 'bool'],
});
export const ExplainRequest = message('pluginbroker.v1.ExplainRequest', {
  subject: [1, 'string'],
  type: [2, 'string'],
});
export const ExplainReply = message('pluginbroker.v1.ExplainReply', {
  subject: [1, 'string'],
  state: [2, 'string'],
  reason: [3, 'string'],
  why: [4, 'string'],
  remedy: [5, 'string'],
  plugins: [6, 'repeated', Plugin],
  events: [7, 'repeated', Event],
});
export const PluginRequest = message('pluginbroker.v1.PluginRequest', { name: [1, 'string'], type: [2, 'string'] });
export const OperatorReply = message('pluginbroker.v1.OperatorReply', { message: [1, 'string'] });

/** Served by the broker on broker.sock. */
export const adminService = {
  Status: serverStream('/pluginbroker.v1.Admin/Status', StatusRequest, StatusReply),
  ListPlugins: serverStream('/pluginbroker.v1.Admin/ListPlugins', ListPluginsRequest, PluginPage),
  ListResources: serverStream('/pluginbroker.v1.Admin/ListResources', ListResourcesRequest, ResourcePage),
  ListLimits: serverStream('/pluginbroker.v1.Admin/ListLimits', ListLimitsRequest, LimitPage),
  Events: serverStream('/pluginbroker.v1.Admin/Events', EventsRequest, Event),
  Explain: unary('/pluginbroker.v1.Admin/Explain', ExplainRequest, ExplainReply),
  Pardon: unary('/pluginbroker.v1.Admin/Pardon', PluginRequest, OperatorReply),
  Deregister: unary('/pluginbroker.v1.Admin/Deregister', PluginRequest, OperatorReply),
  Forget: unary('/pluginbroker.v1.Admin/Forget', PluginRequest, OperatorReply),
};
