// Every metric of ours (docs/specification.md#metrics-and-health): name, kind, labels, meaning. Dashboards and documentation are
// compared with it.

/** The row of one metric. */
export interface MetricSpec {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const P = 'plugin_broker';

/** All metrics by a short key. Node's default metrics come beside them. */
export const METRICS = {
  registrations: {
    name: `${P}_registrations_total`,
    kind: 'counter',
    labels: ['type', 'result', 'reason'],
    help: 'Registrations that ended, by verdict; reason is a code of the table, or empty',
  },
  registrationSeconds: {
    name: `${P}_registration_seconds`,
    kind: 'histogram',
    labels: ['type'],
    help: 'From the first byte of a registration to its answer',
  },
  plugins: { name: `${P}_plugins`, kind: 'gauge', labels: ['type', 'state'], help: 'Incarnations of plugins by state' },
  devices: {
    name: `${P}_devices`,
    kind: 'gauge',
    labels: ['resource', 'health'],
    help: 'Devices of a resource: Healthy, Unhealthy for everything else, or Held while its plugin is lost',
  },
  updates: {
    name: `${P}_updates_total`,
    kind: 'counter',
    labels: ['resource', 'result'],
    help: 'Device lists: applied, equal to the one before, coalesced away, or refused',
  },
  floodExceeded: {
    name: `${P}_flood_exceeded_total`,
    kind: 'counter',
    labels: ['limit', 'action'],
    help: 'Limits that were exceeded, and what was done about it',
  },
  quarantined: { name: `${P}_quarantined`, kind: 'gauge', labels: [], help: 'Plugins in quarantine' },
  floodRulePlugins: {
    name: `${P}_flood_rule_plugins`,
    kind: 'gauge',
    labels: ['rule', 'mode', 'state'],
    help: 'Buckets of flood.register by the rule that set them: counted, of these slowed or quarantined now',
  },
  floodRuleStrikes: {
    name: `${P}_flood_rule_strikes`,
    kind: 'gauge',
    labels: ['rule', 'mode'],
    help: 'Strikes that count now, by the rule that set the bucket',
  },
  checkpointWrites: {
    name: `${P}_checkpoint_writes_total`,
    kind: 'counter',
    labels: ['result'],
    help: 'Checkpoint writes by result',
  },
  checkpointWriteSeconds: {
    name: `${P}_checkpoint_write_seconds`,
    kind: 'histogram',
    labels: [],
    help: 'How long a checkpoint write took until it was durable or failed',
  },
  leases: {
    name: `${P}_leases`,
    kind: 'gauge',
    labels: ['resource', 'state'],
    help: 'Leases with devices of a resource by state: active, unconfirmed, impaired',
  },
  allocations: {
    name: `${P}_allocations_total`,
    kind: 'counter',
    labels: ['resource', 'result'],
    help: 'Allocations that ended: given, or the code of the refusal (without a resource where no plugin is known to offer it)',
  },
  allocateSeconds: {
    name: `${P}_allocate_seconds`,
    kind: 'histogram',
    labels: ['part'],
    help: 'How long allocations took that were given: waiting, asking plugins, until they were on the disk, all of it',
  },
  allocateWaiting: { name: `${P}_allocate_waiting`, kind: 'gauge', labels: [], help: 'Requests that wait for devices' },
  restoreSeconds: {
    name: `${P}_restore_seconds`,
    kind: 'gauge',
    labels: [],
    help: 'From start to all plugins of the checkpoint confirmed, or the deadline',
  },
  connections: {
    name: `${P}_connections`,
    kind: 'gauge',
    labels: ['state'],
    help: 'Connections to kubelet.sock: open now',
  },
  connectionsTotal: {
    name: `${P}_connections_total`,
    kind: 'counter',
    labels: ['result'],
    help: 'Connections to kubelet.sock: accepted, refused by their budget, ended by the guard',
  },
  podResources: {
    name: `${P}_pod_resources_total`,
    kind: 'counter',
    labels: ['method', 'result'],
    help: 'Calls of PodResources by result: ok, not-found, limited (over the rate of a caller), invalid, failed',
  },
  frontResources: {
    name: `${P}_front_resources`,
    kind: 'gauge',
    labels: ['state'],
    help: 'Resources in front of the kubelet by state',
  },
  frontCalls: {
    name: `${P}_front_calls_total`,
    kind: 'counter',
    labels: ['method', 'result'],
    help: 'Calls of the kubelet about fronted resources: ok, or failed',
  },
  frontGateSeconds: {
    name: `${P}_front_gate_seconds`,
    kind: 'histogram',
    labels: [],
    help: 'How long containers waited at PreStartContainer until their plugin was there',
  },
  buildInfo: {
    name: `${P}_build_info`,
    kind: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1: the version of the broker and of Node.js',
  },
  degraded: {
    name: `${P}_degraded`,
    kind: 'gauge',
    labels: ['what'],
    help: '1 where something does not work and the broker goes on without it: checkpoint, policy, discovery, descriptors, allocation, http',
  },
} as const satisfies Record<string, MetricSpec>;
