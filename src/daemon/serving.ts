// The daemon's pages for those who watch it: metrics and health over HTTP, and the status page.
import type { Surroundings } from '../kernel/surroundings.js';
import type { Settings } from '../model/settings.js';
import { healthPages } from '../platform/http/health-pages.js';
import { startHealthServer, type HealthServer } from '../platform/http/health-server.js';
import { processMetrics, type BrokerMetrics, type MetricsSnapshot } from '../platform/metrics/broker-metrics.js';
import type { Daemon } from './daemon.js';
import { openPage } from './page.js';

/** The truth at the moment of a scrape. */
function snapshotOf(daemon: Daemon): MetricsSnapshot {
  const { core } = daemon.broker;
  return {
    plugins: core.roster.all(),
    devices: core.offered.health(),
    version: daemon.standing.view().version,
    quarantined: daemon.flood.quarantines,
    floodRules: daemon.flood.rules(),
    front: daemon.frontLine?.front.states(),
    leases: daemon.leases.allocations
      .leases()
      .flatMap(({ state, granted }) => granted.map(({ resource }) => ({ resource, state }))),
    allocateWaiting: daemon.leases.allocations.waiting,
    openConnections: daemon.broker.connections,
    degraded: daemon.standing.degraded,
  };
}

/** Starts metrics and health. Undefined when they are switched off. */
export function serveHealth(
  daemon: Daemon,
  metrics: BrokerMetrics,
  settings: Settings,
  { clock, log }: Pick<Surroundings, 'clock' | 'log'>,
  served: (address: string | undefined) => void,
): HealthServer | undefined {
  if (settings.http.listen === undefined) served(undefined);
  const pages = healthPages({
    phase: () => daemon.standing.view(),
    metrics,
    snapshot: () => snapshotOf(daemon),
    process: processMetrics(),
  });
  const page = settings.http.page === 'on' ? openPage(daemon, settings, clock, log) : undefined;
  const routes = new Map([...(page?.routes ?? []), ...pages]);
  const told = (why: string | undefined): void => {
    daemon.conditions.set('http', why);
    if (why !== undefined) served(undefined);
  };
  const news = { told, opened: served, closes: () => page?.close() };
  return startHealthServer(settings.http, routes, clock, log, news, daemon.clients);
}
