// The name of a lease's owner that gives none: worked out from its control group. Pure.

/** Kind of owner and its name. */
export interface OwnerNames {
  readonly namespace: string;
  readonly name: string;
}

const CONTAINERS = [
  [/(?:^|\/)docker-([0-9a-f]{64})\.scope(?:\/|$)/, 'docker'],
  [/\/docker\/([0-9a-f]{64})(?:\/|$)/, 'docker'],
  [/(?:^|\/)libpod-([0-9a-f]{64})(?:\.scope)?(?:\/|$)/, 'podman'],
  [/(?:^|\/)cri-containerd-([0-9a-f]+)\.scope(?:\/|$)/, 'containerd'],
  [/(?:^|\/)crio-([0-9a-f]+)\.scope(?:\/|$)/, 'crio'],
] as const;

/**
 * Names the owner by the path of its control group, the process itself where that says nothing.
 *
 * @param cgroup path below the cgroup mount; undefined where it is not known
 */
export function ownerNames(cgroup: string | undefined, pid: number): OwnerNames {
  const path = cgroup ?? '';
  const [, pod] = /kubepods.*?pod([0-9a-fA-F_-]{32,36})/.exec(path) ?? [];
  if (pod !== undefined) return { namespace: 'pod', name: pod.replaceAll('_', '-') };
  for (const [pattern, namespace] of CONTAINERS) {
    const [, name] = pattern.exec(path) ?? [];
    if (name !== undefined) return { namespace, name };
  }
  const [, allocation, task] = /nomad\.slice\/(?:.*\/)?([0-9a-f-]{36})\.([^/]+)\.scope(?:\/|$)/.exec(path) ?? [];
  if (allocation !== undefined) return { namespace: 'nomad', name: `${allocation}.${task ?? ''}` };
  // A service below a user's manager is that user's own affair, and named as such.
  const [, uid] = /(?:^|\/)user-([0-9]+)\.slice(?:\/|$)/.exec(path) ?? [];
  const service = path
    .split('/')
    .findLast((part) => /^[^/]+\.service$/.test(part) && !/^user@[0-9]+\.service$/.test(part));
  if (service !== undefined) return { namespace: uid === undefined ? 'systemd' : `systemd-user-${uid}`, name: service };
  if (uid !== undefined) return { namespace: 'user', name: uid };
  return { namespace: 'process', name: String(pid) };
}
