// The shipped dashboards and alerts ask only for series that exist, by labels that they have.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { PLUGIN_STATES } from '../../../src/model/plugin.js';
import { DEGRADABLE } from '../../../src/platform/metrics/broker-metrics.js';
import { METRICS, type MetricSpec } from '../../../src/platform/metrics/metric-names.js';
import { collectDefaultMetrics, Registry } from 'prom-client';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly description: string };
}

const shipped = (name: string): string => readFileSync(new URL(`../../../../deploy/${name}`, import.meta.url), 'utf8');
const dashboard = JSON.parse(shipped('grafana/plugin-broker.json')) as Dashboard;
const alerts = (parse(shipped('prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const expressions = [
  ...alerts.map((rule) => rule.expr),
  ...dashboard.panels.flatMap((panel) => (panel.targets ?? []).map((target) => target.expr)),
  ...dashboard.templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query)),
];

const specs = new Map<string, MetricSpec>(
  Object.values(METRICS).flatMap((spec: MetricSpec) =>
    spec.kind === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((part) => [`${spec.name}${part}`, spec] as const)
      : [[spec.name, spec] as const],
  ),
);
/** Labels that Prometheus adds, and the bounds of a histogram. */
const EVERYWHERE = ['instance', 'job', 'le'];
/** The values of our labels, where that is a closed list. */
const VALUES = new Map<string, readonly string[]>([
  ['plugin_broker_plugins state', PLUGIN_STATES],
  ['plugin_broker_registrations_total result', ['accepted', 'refused']],
  ['plugin_broker_checkpoint_writes_total result', ['ok', 'failed']],
  ['plugin_broker_devices health', ['Healthy', 'Unhealthy', 'Held']],
  ['plugin_broker_degraded what', DEGRADABLE],
  ['plugin_broker_flood_rule_plugins state', ['counted', 'slowed', 'quarantined']],
  ['plugin_broker_flood_rule_plugins mode', ['enforce', 'observe']],
  ['plugin_broker_flood_exceeded_total limit', ['register', 'updates', 'connections', 'global.register']],
  ['plugin_broker_flood_exceeded_total action', ['delay', 'reject', 'disconnect', 'coalesce', 'observe']],
]);

const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/\bplugin_broker_\w+/g)].map(([name]) => name);

describe('shipped dashboards and alerts', () => {
  it('ask for metrics that exist', () => {
    for (const expression of expressions) {
      for (const name of metricsIn(expression)) assert.ok(specs.has(name), `${name} in ${expression}`);
    }
  });

  it('ask for figures of Node and of the process that exist', () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    const known = new Set(registry.getMetricsAsArray().map((metric) => metric.name));
    registry.clear();
    for (const expression of expressions) {
      for (const [name] of expression.matchAll(/\b(?:nodejs|process)_\w+/g)) assert.ok(known.has(name), name);
    }
  });

  it('pick series by labels that they have, and by values that these can have', () => {
    for (const expression of expressions) {
      for (const [, name = '', matchers = ''] of expression.matchAll(/\b(plugin_broker_\w+)\{([^}]*)\}/g)) {
        for (const [, label = '', operator, value = ''] of matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)) {
          const known = [...EVERYWHERE, ...(specs.get(name)?.labels ?? [])];
          assert.ok(known.includes(label), `${name} has no label ${label}`);
          const values = VALUES.get(`${name} ${label}`);
          if (values !== undefined && operator !== '=~' && operator !== '!~') {
            assert.ok(values.includes(value), `${label} of ${name} is never ${value}`);
          }
        }
      }
    }
  });

  it('sum by labels that the series have', () => {
    for (const expression of expressions) {
      const known = new Set([...EVERYWHERE, ...metricsIn(expression).flatMap((name) => specs.get(name)?.labels ?? [])]);
      for (const [, labels = ''] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of labels.split(',')) assert.ok(known.has(label.trim()), `${label} in ${expression}`);
      }
    }
  });

  it('show every metric somewhere', () => {
    const seen = new Set(expressions.flatMap(metricsIn).map((name) => specs.get(name)?.name));
    const inContract = Object.values(METRICS).filter(({ name }) => !/_(degraded|connections_total)$/.test(name));
    for (const { name } of inContract) assert.ok(seen.has(name), `${name} is shown nowhere`);
  });

  it('have alerts that say how bad it is, what it means and what to do', () => {
    assert.equal(new Set(alerts.map((rule) => rule.alert)).size, alerts.length);
    for (const { alert, labels, annotations } of alerts) {
      assert.ok(['critical', 'warning', 'info'].includes(labels['severity'] ?? ''), alert);
      assert.ok(annotations.summary.length > 0 && annotations.description.length > 40, alert);
    }
  });

  it('have panels that do not overlap, each with a title and what it means', () => {
    const cells = new Set<string>();
    for (const { id, type, title, description, gridPos } of dashboard.panels) {
      assert.ok(title.length > 0 && (type === 'row' || (description ?? '').length > 0), `panel ${id}`);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          assert.ok(x < 24 && !cells.has(`${x} ${y}`), `panel ${id} overlaps at ${x}, ${y}`);
          cells.add(`${x} ${y}`);
        }
      }
    }
    assert.equal(new Set(dashboard.panels.map((panel) => panel.id)).size, dashboard.panels.length);
  });
});
