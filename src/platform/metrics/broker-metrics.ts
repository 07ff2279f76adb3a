// Counts, and renders the counters. Counting costs a map access; prom-client, for Node's own figures, is loaded with the first
// scrape.
import type { ResourceHealth } from '../../inventory/offered.js';
import type { Metrics } from '../../kernel/metrics.js';
import { CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN } from '../../model/ids.js';
import { PLUGIN_STATES } from '../../model/plugin.js';
import { FRONT_STATES, type FrontState } from '../../model/front.js';
import type { FloodRuleView } from '../../model/views.js';
import { METRICS, type MetricSpec } from './metric-names.js';
import { Durations, Tally, line, type Sample } from './series.js';

/** The parts that can be degraded. */
export const DEGRADABLE = ['checkpoint', 'policy', 'discovery', 'descriptors', 'allocation', 'http'] as const;

/** The truth at the moment of a scrape. */
export interface MetricsSnapshot {
  /** One entry for each incarnation. */
  readonly plugins: Iterable<{ readonly type: string; readonly state: string }>;
  readonly devices: Iterable<ResourceHealth>;
  /** Of the broker. */
  readonly version: string;
  readonly quarantined: number;
  /** One entry for each rule of the flood policy that has buckets; the number of rules bounds them. */
  readonly floodRules: readonly FloodRuleView[];
  /** One entry for each resource of each lease. */
  readonly leases: Iterable<{ readonly resource: string; readonly state: string }>;
  readonly allocateWaiting: number;
  readonly openConnections: number;
  /** Resources before a kubelet by state; undefined where the front is off. */
  readonly front?: ReadonlyMap<FrontState, number> | undefined;
  readonly degraded: readonly (typeof DEGRADABLE)[number][];
}

/** The default metrics of the process, as text; loaded when first asked for. */
export type ProcessMetrics = () => Promise<string>;

const TYPES = [DEVICE_PLUGIN, CSI_PLUGIN, DRA_PLUGIN, 'other'] as const;
/** The content type of the text format. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The counters of the daemon. */
export class BrokerMetrics implements Metrics {
  readonly #registrations = new Tally();
  readonly #registrationSeconds = new Durations();
  readonly #updates = new Tally();
  readonly #floodExceeded = new Tally();
  readonly #checkpointWrites = new Tally();
  readonly #checkpointWriteSeconds = new Durations();
  readonly #connections = new Tally();
  readonly #podResources = new Tally();
  readonly #frontCalls = new Tally();
  readonly #frontGate = new Durations();
  readonly #allocations = new Tally();
  readonly #allocateSeconds = new Durations();
  #restoreSeconds: number | undefined;

  registration(type: string, result: 'accepted' | 'refused', reason: string): void {
    this.#registrations.add([knownType(type), result, reason]);
  }

  registrationSeconds(type: string, seconds: number): void {
    this.#registrationSeconds.observe([knownType(type)], seconds);
  }

  update(resource: string, result: 'applied' | 'equal' | 'coalesced' | 'refused', count = 1, stranger?: number): void {
    this.#updates.add([resource, result], count, stranger);
  }

  floodExceeded(limit: 'register' | 'updates' | 'connections' | 'global.register' | 'allocate', action: string): void {
    this.#floodExceeded.add([limit, action]);
  }

  checkpointWrite(result: 'ok' | 'failed', seconds: number): void {
    this.#checkpointWrites.add([result]);
    this.#checkpointWriteSeconds.observe([], seconds);
  }

  frontCall(method: string, result: 'ok' | 'failed'): void {
    this.#frontCalls.add([method, result]);
  }

  frontGate(seconds: number): void {
    this.#frontGate.observe([], seconds);
  }

  allocation(resource: string, result: string, stranger?: number): void {
    this.#allocations.add([resource, result], 1, stranger);
  }

  allocateSeconds(part: 'wait' | 'plugin' | 'disk' | 'all', seconds: number): void {
    this.#allocateSeconds.observe([part], seconds);
  }

  restored(seconds: number): void {
    this.#restoreSeconds = seconds;
  }

  podResources(method: string, result: string): void {
    this.#podResources.add([method, result]);
  }

  /** A connection to kubelet.sock was accepted, was refused by its budget, or was ended by the guard. */
  connection(result: 'accepted' | 'refused' | 'ended'): void {
    this.#connections.add([result]);
  }

  /** Everything in the text format, without Node's own figures. */
  render(snapshot: MetricsSnapshot): string {
    const restored = this.#restoreSeconds === undefined ? [] : [{ labels: [], value: this.#restoreSeconds }];
    return [
      ...block(METRICS.registrations, this.#registrations.samples()),
      ...histogram(METRICS.registrationSeconds, this.#registrationSeconds),
      ...block(METRICS.plugins, pluginSamples(snapshot)),
      ...block(METRICS.devices, deviceSamples(snapshot)),
      ...block(METRICS.updates, this.#updates.samples()),
      ...block(METRICS.floodExceeded, this.#floodExceeded.samples()),
      ...block(METRICS.quarantined, [{ labels: [], value: snapshot.quarantined }]),
      ...block(METRICS.floodRulePlugins, rulePluginSamples(snapshot)),
      ...block(METRICS.floodRuleStrikes, ruleStrikeSamples(snapshot)),
      ...block(METRICS.checkpointWrites, this.#checkpointWrites.samples()),
      ...histogram(METRICS.checkpointWriteSeconds, this.#checkpointWriteSeconds),
      ...block(METRICS.leases, leaseSamples(snapshot)),
      ...block(METRICS.allocations, this.#allocations.samples()),
      ...histogram(METRICS.allocateSeconds, this.#allocateSeconds),
      ...block(METRICS.allocateWaiting, [{ labels: [], value: snapshot.allocateWaiting }]),
      ...block(METRICS.restoreSeconds, restored),
      ...block(METRICS.connections, [{ labels: ['open'], value: snapshot.openConnections }]),
      ...block(METRICS.connectionsTotal, this.#connections.samples()),
      ...block(METRICS.podResources, this.#podResources.samples()),
      ...block(METRICS.frontResources, frontSamples(snapshot)),
      ...block(METRICS.frontCalls, this.#frontCalls.samples()),
      ...histogram(METRICS.frontGateSeconds, this.#frontGate),
      ...block(METRICS.buildInfo, [{ labels: [snapshot.version, process.versions.node], value: 1 }]),
      ...block(METRICS.degraded, degradedSamples(snapshot)),
      '',
    ].join('\n');
  }
}

/** Node's default metrics through prom-client. */
export function processMetrics(): ProcessMetrics {
  let loading: Promise<{ metrics(): Promise<string> }> | undefined;
  const load = async (): Promise<{ metrics(): Promise<string> }> => {
    const { Registry, collectDefaultMetrics } = await import('prom-client');
    const registry = new Registry();
    const { user, system } = process.cpuUsage();
    collectDefaultMetrics({ register: registry });
    // The library counts from here on.
    for (const [name, spentUs] of [
      ['process_cpu_user_seconds_total', user],
      ['process_cpu_system_seconds_total', system],
      ['process_cpu_seconds_total', user + system],
    ] as const) {
      const counter = registry.getSingleMetric(name);
      if (counter !== undefined && 'inc' in counter) counter.inc(spentUs / 1e6);
    }
    return registry;
  };
  return async () => {
    loading ??= load();
    return (await loading).metrics();
  };
}

function knownType(type: string): string {
  return TYPES.find((known) => known === type) ?? 'other';
}

/** Every known type and state has a series, so that an alert on it never looks at nothing. */
function pluginSamples({ plugins }: MetricsSnapshot): readonly Sample[] {
  const tally = new Tally();
  for (const type of TYPES.slice(0, 3)) for (const state of PLUGIN_STATES) tally.add([type, state], 0);
  for (const { type, state } of plugins) tally.add([knownType(type), state]);
  return tally.samples();
}

function deviceSamples({ devices }: MetricsSnapshot): readonly Sample[] {
  const tally = new Tally();
  for (const { resource, healthy, unhealthy, held } of devices) {
    tally.add([resource, 'Healthy'], healthy);
    tally.add([resource, 'Unhealthy'], unhealthy);
    tally.add([resource, 'Held'], held);
  }
  return tally.samples();
}

function leaseSamples({ leases }: MetricsSnapshot): readonly Sample[] {
  const tally = new Tally();
  for (const { resource, state } of leases) tally.add([resource, state]);
  return tally.samples();
}

function rulePluginSamples({ floodRules }: MetricsSnapshot): readonly Sample[] {
  return floodRules.flatMap(({ source, mode, buckets, slowed, quarantined }) => [
    { labels: [source, mode, 'counted'], value: buckets },
    { labels: [source, mode, 'slowed'], value: slowed },
    { labels: [source, mode, 'quarantined'], value: quarantined },
  ]);
}

function ruleStrikeSamples({ floodRules }: MetricsSnapshot): readonly Sample[] {
  return floodRules.map(({ source, mode, strikes }) => ({ labels: [source, mode], value: strikes }));
}

/** Every state has a series where there is a front, so that an alert on it never looks at nothing. */
function frontSamples({ front }: MetricsSnapshot): readonly Sample[] {
  return front === undefined ? [] : FRONT_STATES.map((state) => ({ labels: [state], value: front.get(state) ?? 0 }));
}

function degradedSamples({ degraded }: MetricsSnapshot): readonly Sample[] {
  return DEGRADABLE.map((what) => ({ labels: [what], value: degraded.includes(what) ? 1 : 0 }));
}

function head({ name, kind, help }: MetricSpec): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`];
}

function block(spec: MetricSpec, samples: readonly Sample[]): string[] {
  return [...head(spec), ...samples.map(({ labels, value }) => line(spec.name, spec.labels, labels, value))];
}

function histogram(spec: MetricSpec, durations: Durations): string[] {
  return [...head(spec), ...durations.lines(spec.name, spec.labels)];
}
