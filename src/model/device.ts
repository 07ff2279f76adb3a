// Devices as plugins report them.

/** The only health that counts as healthy (kubelet: exact match). */
export const HEALTHY = 'Healthy';

/** One device of a list. */
export interface Device {
  readonly id: string;
  readonly health: string;
  readonly numaNodes: readonly number[];
}

/** The figures of a list: every message replaces the one before. */
export interface ListSummary {
  /** Devices with different ids. */
  readonly devices: number;
  /** The devices whose last entry is healthy. */
  readonly healthy: number;
  /** Ids that were sent more than once; the last one counts. Bounded sample. */
  readonly duplicates: readonly string[];
}
