// What one connection to a registration socket may do. A kubelet makes two short calls on each; a health check one.
import type { GuardSettings } from '../model/settings.js';

/** Concurrent calls of one connection. */
export const STREAMS = 8;
/** The largest request: a status with the error text of a kubelet. */
export const MAX_REQUEST_BYTES = 64 * 1024;

/** Budgets far above any client's need. A kubelet keeps its connection while it asks the driver, up to two minutes. */
export const GUARD: GuardSettings = {
  windowMs: 10_000,
  settings: 32,
  pings: 500,
  resets: 200,
  emptyFrames: 200,
  windowUpdates: 1000,
  priorities: 200,
  frames: 5000,
  headerBytes: 16 * 1024,
  continuations: 8,
  prefaceMs: 5000,
  headersMs: 5000,
  idleMs: 300_000,
  halfOpenMs: 10_000,
  halfClosedMs: 10_000,
  unreadBytes: 1024 * 1024,
  unreadMs: 10_000,
  ageMs: 3_600_000,
};
