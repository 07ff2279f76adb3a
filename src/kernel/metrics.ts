// Counters and durations, as a port. Gauges are not here: they are computed from the actual state on request.

/**
 * Counters and durations of the daemon (docs/specification.md#metrics-and-health). Label values given here are already bounded.
 * BrokerMetrics (platform/metrics/broker-metrics).
 */
export interface Metrics {
  /** A registration ended. `result`: accepted or refused; `reason`: a code of the table, or empty. */
  registration(type: string, result: 'accepted' | 'refused', reason: string): void;
  /** Seconds from the first byte of a registration to its answer. */
  registrationSeconds(type: string, seconds: number): void;
  /**
   * A list was taken: applied, equal to the one before, coalesced away, or refused.
   *
   * @param stranger the ordinary user whose plugin it is, which has a share of the series; undefined: root or the broker's user
   */
  update(
    resource: string,
    result: 'applied' | 'equal' | 'coalesced' | 'refused',
    count?: number,
    stranger?: number,
  ): void;
  /** A limit was exceeded and this was done about it. */
  floodExceeded(limit: 'register' | 'updates' | 'connections' | 'global.register' | 'allocate', action: string): void;
  /** A checkpoint write ended. */
  checkpointWrite(result: 'ok' | 'failed', seconds: number): void;
  /** A call of PodResources was answered. `method`: List, GetAllocatableResources or Get; `result`: a fixed word. */
  podResources(method: string, result: string): void;
  /** A call of the kubelet to a fronted resource ended. */
  frontCall(method: string, result: 'ok' | 'failed'): void;
  /** Seconds that a container waited at the gate of PreStartContainer. */
  frontGate(seconds: number): void;
  /** An allocation ended; `result`: given, or a code of the table; `stranger` as above. */
  allocation(resource: string, result: string, stranger?: number): void;
  /** Seconds of one part of an allocation that was given. */
  allocateSeconds(part: 'wait' | 'plugin' | 'disk' | 'all', seconds: number): void;
  /** Seconds from start to all endpoints confirmed or the deadline. */
  restored(seconds: number): void;
}
