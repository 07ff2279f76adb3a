// A log and metrics for tests that look at neither.
import type { Log } from '../../src/kernel/log.js';
import type { Metrics } from '../../src/kernel/metrics.js';

/** A log that says nothing. */
export const silentLog: Log = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};

/** Counts nothing. */
export const noMetrics: Metrics = {
  registration: () => undefined,
  registrationSeconds: () => undefined,
  update: () => undefined,
  floodExceeded: () => undefined,
  checkpointWrite: () => undefined,
  podResources: () => undefined,
  frontCall: () => undefined,
  frontGate: () => undefined,
  allocation: () => undefined,
  allocateSeconds: () => undefined,
  restored: () => undefined,
};
