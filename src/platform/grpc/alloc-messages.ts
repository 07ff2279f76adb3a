// Leases, and the devices of pods, as messages of alloc.sock.
import type { Allocations } from '../../allocation/allocations.js';
import type { PodOwner } from '../../front/pods.js';
import type { Lease as LeaseMessage } from '../../generated/proto/pluginbroker/v1/allocator.js';
import { leaseEnvs, type Lease } from '../../model/lease.js';

/** The fields of a message of a lease. */
export type LeaseFields = Parameters<typeof LeaseMessage.encode>[0];

/** A lease as its owner sees it. */
export function leaseMessage(lease: Lease, cdi: ReturnType<Allocations['cdiOf']>): LeaseFields {
  const { id, owner, answer, expiresAt, reason } = lease;
  const ours = cdi !== undefined && 'name' in cdi ? [cdi.name] : [];
  const warnings = cdi !== undefined && 'problem' in cdi ? [cdi.problem] : [];
  return {
    id,
    granted: lease.granted.map(({ resource, devices }) => ({
      resource,
      ids: devices.map((device) => device.id),
      numaNodes: [...new Set(devices.flatMap(({ numaNodes }) => numaNodes))].sort((a, b) => a - b),
    })),
    envs: leaseEnvs(lease),
    mounts: answer.mounts,
    devices: answer.devices,
    annotations: answer.annotations,
    cdiDevices: [...ours, ...answer.cdiDevices],
    state: lease.state,
    expiresAt: expiresAt === undefined ? '' : new Date(expiresAt).toISOString(),
    reason: reason ?? '',
    createdAt: new Date(lease.createdAt).toISOString(),
    owner: { bind: owner.bind, namespace: owner.namespace, name: owner.name, part: owner.part },
    uid: lease.uid,
    pid: owner.process?.pid ?? 0,
    key: lease.key ?? '',
    warnings,
  };
}

/** A pod in place of a lease: its devices are the kubelet's to release. */
export function podMessage({ namespace, pod, container, since, devices }: PodOwner): LeaseFields {
  return {
    granted: [...devices].map(([resource, ids]) => ({ resource, ids })),
    state: 'active',
    createdAt: new Date(since).toISOString(),
    owner: { bind: 'pod', namespace, name: pod, part: container },
    uid: -1,
  };
}
