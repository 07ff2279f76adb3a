// The pages: liveness, readiness, metrics.
import {
  METRICS_CONTENT_TYPE,
  type BrokerMetrics,
  type MetricsSnapshot,
  type ProcessMetrics,
} from '../metrics/broker-metrics.js';
import { plainText, type Route, type Routes } from './router.js';

/** One rendering serves all requests within this. */
const METRICS_FRESH_MS = 1000;

/** Where the broker stands, as `status` shows it. */
export interface Phase {
  readonly phase: 'restoring' | 'ready' | 'degraded' | 'stopping';
  /** The degraded parts, one sentence each. */
  readonly problems: readonly string[];
}

/**
 * The sources of the pages, read at each request: `serveHealth` (daemon/serving) has them of Standing (admin/standing) and the
 * roster.
 */
export interface PageSources {
  readonly phase: () => Phase;
  readonly metrics: BrokerMetrics;
  readonly snapshot: () => MetricsSnapshot;
  readonly process: ProcessMetrics;
}

/** The pages: /healthz, /readyz (503 while restoring or stopping; degraded is ready), /metrics. */
export function healthPages({ phase, metrics, snapshot, process }: PageSources): Routes {
  return new Map<string, Route>([
    ['/healthz', { isProbe: true, make: () => plainText(200, 'ok') }],
    [
      '/readyz',
      {
        isProbe: true,
        make: () => {
          const { phase: now, problems } = phase();
          const isReady = now === 'ready' || now === 'degraded';
          return plainText(isReady ? 200 : 503, [now, ...problems].join('\n'));
        },
      },
    ],
    [
      '/metrics',
      {
        isMetrics: true,
        freshMs: METRICS_FRESH_MS,
        make: async () => ({
          status: 200,
          type: METRICS_CONTENT_TYPE,
          body: metrics.render(snapshot()) + (await process()),
        }),
      },
    ],
  ]);
}
