// What is served: is it alive, is it ready, what are its figures.
import {
  METRICS_CONTENT_TYPE,
  type BrokerMetrics,
  type MetricsSnapshot,
  type ProcessMetrics,
} from '../metrics/broker-metrics.js';
import { plainText, type Answer, type Pages } from './health-server.js';

/** Where the broker stands, as `status` shows it (contract 7). */
export interface Phase {
  readonly phase: 'restoring' | 'ready' | 'degraded' | 'stopping';
  /** What is degraded, one sentence each. */
  readonly problems: readonly string[];
}

/** What the pages are made of, asked at each request. */
export interface PageSources {
  readonly phase: () => Phase;
  readonly metrics: BrokerMetrics;
  readonly snapshot: () => MetricsSnapshot;
  readonly process: ProcessMetrics;
}

/** The pages: /healthz, /readyz (503 while restoring or stopping; degraded is ready), /metrics. */
export function healthPages({ phase, metrics, snapshot, process }: PageSources): Pages {
  return new Map<string, () => Answer | Promise<Answer>>([
    ['/healthz', () => plainText(200, 'ok')],
    [
      '/readyz',
      () => {
        const { phase: now, problems } = phase();
        const isReady = now === 'ready' || now === 'degraded';
        return plainText(isReady ? 200 : 503, [now, ...problems].join('\n'));
      },
    ],
    [
      '/metrics',
      async () => ({
        status: 200,
        type: METRICS_CONTENT_TYPE,
        body: metrics.render(snapshot()) + (await process()),
      }),
    ],
  ]);
}
