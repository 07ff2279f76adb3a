import type { GuardSettings } from '../../model/settings.js';

/**
 * Budgets of one connection of the programs beside the daemon, which read no configuration: far above the needs of any working
 * client or server. A kubelet keeps its connection while it asks the driver, up to two minutes.
 */
export const DEFAULT_GUARD: GuardSettings = {
  windowMs: 10_000,
  settings: 32,
  pings: 500,
  resets: 200,
  emptyFrames: 200,
  windowUpdates: 1000,
  priorities: 200,
  informational: 100,
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
