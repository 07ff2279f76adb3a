// Wires PodResources: what plugins offer, leases, and what a kubelet says.
import type { Resource } from '../inventory/resources.js';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { LeaseSource } from '../model/lease.js';
import type { Settings } from '../model/settings.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { kubeletAnswers } from '../platform/kubelet/pod-resources-client.js';
import { PodResourcesSocket, type PodResourcesSocketPorts } from '../platform/listeners/pod-resources-socket.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { devicesOf } from '../platform/wire/list-decoder.js';
import { podEncoder } from '../platform/wire/pod-encoder.js';
import { CallerRates } from '../podresources/caller-rates.js';
import { incompleteAnswers } from '../podresources/incomplete.js';
import { LeaseAnswers } from '../podresources/lease-answers.js';
import { UpstreamAnswers } from '../podresources/upstream.js';

/** What is needed. */
export interface PodResourcesParts extends Pick<PodResourcesSocketPorts, 'accept' | 'acceptFailed'> {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly leases: LeaseSource;
  /** Resources whose devices are ours to tell. */
  readonly resources: () => Iterable<Resource>;
  /** The socket cannot be opened, or an answer is not complete (one sentence); undefined: that is over. */
  readonly degraded: (
    what: 'pod-resources' | 'pod-resources-answers' | 'pod-resources-upstream',
    why: string | undefined,
  ) => void;
  /** What connections to a kubelet are guarded with. */
  readonly guarding: Guarding;
  /** Whether a kubelet waits for an Allocate of ours. */
  readonly isAllocating: () => boolean;
}

/** PodResources, to be opened. Closed, it asks the kubelet nothing more. */
export function podResources(parts: PodResourcesParts): { open(): Promise<void>; close(): Promise<void> } {
  const { clock, metrics, leases, degraded, guarding } = parts;
  const { upstream: kubelet } = parts.settings.podResources;
  const incomplete = incompleteAnswers((why) => degraded('pod-resources-answers', why));
  const own = new LeaseAnswers({
    leases,
    usable: () =>
      [...parts.resources()]
        .filter(({ allocatable }) => allocatable > 0)
        .map(({ name, holding }) => ({ resource: name, list: holding, devices: () => devicesOf(holding.raw) })),
    encoder: podEncoder,
    nextTurn,
    incomplete,
  });
  const upstream =
    kubelet === undefined
      ? undefined
      : new UpstreamAnswers(own, {
          kubelet: kubeletAnswers(kubelet, guarding),
          clock,
          mayList: () => !parts.isAllocating(),
          unanswered: (why) => degraded('pod-resources-upstream', why),
          incomplete: (count) => incomplete('upstream', count),
        });
  const rates = new CallerRates(() => clock.mono());
  const socket = new PodResourcesSocket({
    ...parts,
    backend: upstream ?? own,
    mayAsk: (caller) => rates.take(caller),
    count: (method, result) => metrics.podResources(method, result),
    degraded: (why) => degraded('pod-resources', why),
  });
  return {
    open: () => socket.open(),
    close: () => {
      upstream?.close();
      return socket.close();
    },
  };
}
