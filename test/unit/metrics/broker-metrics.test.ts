import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { BrokerMetrics, type MetricsSnapshot } from '../../../src/platform/metrics/broker-metrics.js';
import { METRICS } from '../../../src/platform/metrics/metric-names.js';

const METRIC_NAMES: readonly string[] = Object.values(METRICS).map(({ name }) => name);

const nothing: MetricsSnapshot = {
  version: '1.2.3',
  plugins: [],
  devices: [],
  quarantined: 0,
  floodRules: [],
  openConnections: 0,
  leases: [],
  allocateWaiting: 0,
  degraded: [],
};

function linesOf(metrics: BrokerMetrics, changed: Partial<MetricsSnapshot> = {}): string[] {
  return metrics.render({ ...nothing, ...changed }).split('\n');
}

describe('the metrics', () => {
  it('have the names of the contract', () => {
    const promised = [
      'registrations_total',
      'plugins',
      'devices',
      'updates_total',
      'flood_exceeded_total',
      'quarantined',
      'checkpoint_writes_total',
      'checkpoint_write_seconds',
      'restore_seconds',
      'registration_seconds',
      'connections',
      'leases',
      'allocations_total',
      'allocate_seconds',
      'allocate_waiting',
      'pod_resources_total',
      'front_resources',
      'front_calls_total',
      'front_gate_seconds',
    ].map((name) => `plugin_broker_${name}`);
    assert.deepEqual(
      promised.filter((name) => !METRIC_NAMES.includes(name)),
      [],
    );
  });

  it('are each told with their kind, and each line belongs to one of them', () => {
    const metrics = new BrokerMetrics();
    metrics.registration('DevicePlugin', 'accepted', '');
    metrics.registrationSeconds('DevicePlugin', 0.003);
    metrics.update('a.b/c', 'equal', 3);
    metrics.floodExceeded('register', 'delay');
    metrics.checkpointWrite('ok', 0.002);
    metrics.restored(0.2);
    metrics.connection('ended');
    const lines = linesOf(metrics);
    const kinds = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]);
    assert.deepEqual([...kinds].sort(), [...METRIC_NAMES].sort());
    for (const line of lines.filter((text) => text !== '' && !text.startsWith('#'))) {
      assert.match(line, /^plugin_broker_[a-z_]+(\{([a-z]+="[^"\n]*",?)+\})? [0-9.e+-]+$/);
    }
    for (const expected of [
      'plugin_broker_registrations_total{type="DevicePlugin",result="accepted",reason=""} 1',
      'plugin_broker_updates_total{resource="a.b/c",result="equal"} 3',
      'plugin_broker_flood_exceeded_total{limit="register",action="delay"} 1',
      'plugin_broker_checkpoint_writes_total{result="ok"} 1',
      'plugin_broker_restore_seconds 0.2',
      'plugin_broker_connections_total{result="ended"} 1',
    ]) {
      assert.ok(lines.includes(expected), expected);
    }
  });

  it('count durations in cumulative buckets', () => {
    const metrics = new BrokerMetrics();
    for (const seconds of [0.0005, 0.003, 0.004, 60]) metrics.registrationSeconds('CSIPlugin', seconds);
    const bucket = (le: string) =>
      linesOf(metrics)
        .find((line) => line.includes(`_registration_seconds_bucket{type="CSIPlugin",le="${le}"}`))
        ?.split(' ')[1];
    assert.deepEqual(['0.001', '0.0025', '0.005', '10', '+Inf'].map(bucket), ['1', '1', '3', '3', '4']);
    assert.ok(linesOf(metrics).includes('plugin_broker_registration_seconds_count{type="CSIPlugin"} 4'));
  });

  it('show the truth of the moment: plugins by state, devices by health, what is degraded', () => {
    const lines = linesOf(new BrokerMetrics(), {
      plugins: [
        { type: 'DevicePlugin', state: 'ready' },
        { type: 'DevicePlugin', state: 'ready' },
        { type: 'Martian', state: 'gone' },
      ],
      devices: [{ resource: 'a.b/c', healthy: 7, unhealthy: 1, held: 0 }],
      quarantined: 2,
      floodRules: [{ source: 'rules[0].flood', mode: 'observe', buckets: 3, slowed: 1, quarantined: 0, strikes: 4 }],
      openConnections: 5,
      degraded: ['policy'],
    });
    for (const expected of [
      'plugin_broker_plugins{type="DevicePlugin",state="ready"} 2',
      'plugin_broker_plugins{type="CSIPlugin",state="ready"} 0',
      'plugin_broker_plugins{type="other",state="gone"} 1',
      'plugin_broker_devices{resource="a.b/c",health="Healthy"} 7',
      'plugin_broker_devices{resource="a.b/c",health="Unhealthy"} 1',
      'plugin_broker_devices{resource="a.b/c",health="Held"} 0',
      'plugin_broker_quarantined 2',
      'plugin_broker_flood_rule_plugins{rule="rules[0].flood",mode="observe",state="counted"} 3',
      'plugin_broker_flood_rule_plugins{rule="rules[0].flood",mode="observe",state="slowed"} 1',
      'plugin_broker_flood_rule_plugins{rule="rules[0].flood",mode="observe",state="quarantined"} 0',
      'plugin_broker_flood_rule_strikes{rule="rules[0].flood",mode="observe"} 4',
      'plugin_broker_connections{state="open"} 5',
      'plugin_broker_degraded{what="policy"} 1',
      'plugin_broker_degraded{what="checkpoint"} 0',
    ]) {
      assert.ok(lines.includes(expected), expected);
    }
  });

  it('stay bounded however many resources report, and lose no count', () => {
    const metrics = new BrokerMetrics();
    for (let index = 0; index < 20_000; index++) metrics.update(`a.b/${index}`, 'applied');
    const values = linesOf(metrics)
      .filter((line) => line.startsWith('plugin_broker_updates_total{'))
      .map((line) => Number(line.split(' ')[1]));
    assert.ok(values.length < 3000);
    assert.equal(
      values.reduce((sum, value) => sum + value, 0),
      20_000,
    );
  });

  it('of resources that one user invents have a share, beside which others are told by their names', () => {
    const metrics = new BrokerMetrics();
    for (let index = 0; index < 5000; index++) {
      for (const result of ['applied', 'equal', 'refused'] as const) metrics.update(`evil/${index}`, result, 1, 4001);
      metrics.allocation(`evil/${index}`, 'given', 4001);
    }
    for (const stranger of [4002, undefined]) metrics.update(`of/${String(stranger)}`, 'applied', 1, stranger);
    metrics.allocation('of/undefined', 'given');
    const lines = linesOf(metrics).filter((line) => line.includes('resource="of/'));
    assert.deepEqual(lines, [
      'plugin_broker_updates_total{resource="of/4002",result="applied"} 1',
      'plugin_broker_updates_total{resource="of/undefined",result="applied"} 1',
      'plugin_broker_allocations_total{resource="of/undefined",result="given"} 1',
    ]);
  });

  it('cannot be forged by a name', () => {
    const metrics = new BrokerMetrics();
    metrics.update('a"} 1\nplugin_broker_quarantined 99 \\', 'applied');
    metrics.registration('__proto__', 'refused', 'TYPE_UNKNOWN');
    const lines = linesOf(metrics);
    assert.ok(!lines.includes('plugin_broker_quarantined 99 \\'));
    assert.equal(lines.filter((line) => line.startsWith('plugin_broker_updates_total{')).length, 1);
    assert.ok(
      lines.includes('plugin_broker_registrations_total{type="other",result="refused",reason="TYPE_UNKNOWN"} 1'),
    );
  });
});
