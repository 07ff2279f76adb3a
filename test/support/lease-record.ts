import type { LeaseRecord } from '../../src/model/lease.js';

/** A lease of one device as it is on the disk. */
export function leaseRecord(id: string, more: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    id,
    uid: 0,
    key: undefined,
    owner: { bind: 'process', namespace: 'process', name: '7', part: '', process: { pid: 7, startTime: '70' } },
    wants: [{ resource: 'vendor.com/gpu', count: 1, ids: [], numa: 'prefer' }],
    granted: [{ resource: 'vendor.com/gpu', devices: [{ id: `gpu-${id}`, numaNodes: [] }] }],
    answer: { envs: new Map(), mounts: [], devices: [], annotations: new Map(), cdiDevices: [] },
    createdAt: 1_893_456_000_000,
    ttlMs: undefined,
    bootId: 'boot-1',
    ...more,
  };
}
