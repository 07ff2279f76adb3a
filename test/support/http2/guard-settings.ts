import type { GuardSettings } from '../../../src/model/settings.js';

/** Budgets for tests: small enough to exceed quickly, large enough for every honest client here. */
export const guardSettings: GuardSettings = {
  windowMs: 10_000,
  settings: 30,
  pings: 100,
  resets: 50,
  emptyFrames: 50,
  windowUpdates: 500,
  priorities: 50,
  informational: 50,
  frames: 2_000,
  headerBytes: 16_384,
  continuations: 8,
  prefaceMs: 5_000,
  headersMs: 5_000,
  idleMs: 60_000,
  halfOpenMs: 10_000,
  halfClosedMs: 5_000,
  unreadBytes: 1_048_576,
  unreadMs: 10_000,
  ageMs: 3_600_000,
};
