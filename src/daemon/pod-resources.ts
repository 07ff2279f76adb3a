// Wires PodResources: the offers of plugins, leases, and the answers of a kubelet.
import type { OfferedResources } from '../inventory/offered.js';
import type { Front } from '../front/front.js';
import type { Owners } from '../front/owners.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import type { LeaseSource } from '../model/lease.js';
import type { Settings } from '../model/settings.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { kubeletAnswers } from '../platform/kubelet/pod-resources-client.js';
import type { KeptDoor } from '../platform/listeners/kept-door.js';
import { podResourcesSocket, type PodResourcesSocketPorts } from '../platform/listeners/pod-resources-socket.js';
import { partsOf } from '../platform/wire/list-decoder.js';
import { podEncoder } from '../platform/wire/pod-encoder.js';
import { incompleteAnswers } from '../podresources/incomplete.js';
import { LeaseAnswers } from '../podresources/lease-answers.js';
import { resourceUsers } from '../podresources/resource-users.js';
import { CallerRates } from '../podresources/caller-rates.js';
import { UpstreamAnswers } from '../podresources/upstream.js';
import { usableLists } from '../podresources/usable-lists.js';

/** The parts of PodResources. */
export interface PodResourcesParts
  extends Pick<PodResourcesSocketPorts, 'gate' | 'acceptFailed' | keyof UserFacts>, Omit<Surroundings, 'random'> {
  readonly settings: Settings;
  readonly leases: LeaseSource;
  readonly offered: Pick<OfferedResources, 'all' | 'of'>;
  /** The socket cannot be opened, an answer is not complete (one sentence), or that is over: Conditions.set (journal/conditions). */
  readonly degraded: (
    what: 'pod-resources' | 'pod-resources-answers' | 'pod-resources-upstream',
    why: string | undefined,
  ) => void;
  /** The ordinary user of the plugin of an instance: `strangerUserOf` (model/instance). */
  readonly strangerOf: (instanceId: string) => number | undefined;
  /** The guards of connections to a kubelet. */
  readonly guarding: Guarding;
  /** The front, and the owners of devices as the kubelet names them; undefined: there is no front. */
  readonly kubelet?:
    { readonly front: Pick<Front, 'isFronted'>; readonly owners: Pick<Owners, 'mayList' | 'listing'> } | undefined;
}

/** PodResources, to be opened. Closed, it asks the kubelet nothing more. */
export function podResources(parts: PodResourcesParts): KeptDoor {
  const { clock, metrics, leases, degraded, guarding } = parts;
  const { upstream: kubelet } = parts.settings.podResources;
  const joined = kubelet === undefined ? undefined : parts.kubelet;
  const incomplete = incompleteAnswers((why) => degraded('pod-resources-answers', why));
  const own = new LeaseAnswers({
    leases,
    usable: () => usableLists(parts.offered.all().values(), joined?.front, partsOf, parts.strangerOf),
    encoder: podEncoder,
    strangerOfUid: (uid) => strangerUser(uid, parts),
    ...resourceUsers(joined?.front, parts.offered, parts.strangerOf),
    incomplete,
  });
  const upstream =
    kubelet === undefined
      ? undefined
      : new UpstreamAnswers(own, {
          ...{ clock, ownUid: parts.ownUid, userOf: parts.userOf },
          kubelet: kubeletAnswers(kubelet, guarding),
          owners: joined?.owners,
          unanswered: (why) => degraded('pod-resources-upstream', why),
          incomplete: (count) => incomplete('upstream', count),
        });
  const rates = new CallerRates({ ownUid: parts.ownUid, userOf: parts.userOf });
  return podResourcesSocket({
    ...parts,
    backend: upstream ?? own,
    mayAsk: (caller) => rates.take(caller, clock.mono()),
    mayGive: (caller, bytes) => rates.give(caller, bytes, clock.mono()),
    count: (method, result) => metrics.podResources(method, result),
    degraded: (why) => degraded('pod-resources', why),
    closes: () => upstream?.close(),
  });
}
