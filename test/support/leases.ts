import type { Lease, LeaseOwner, LeaseSource, PluginAnswer } from '../../src/model/lease.js';

/** The given facts of a lease of a test; everything else has a plain value. */
export interface GivenLease {
  readonly id?: string;
  readonly owner?: Partial<LeaseOwner>;
  /** Device ids by resource; an id with `@0,1` is near to these NUMA nodes. */
  readonly devices?: Readonly<Record<string, readonly string[]>>;
  readonly answer?: Partial<PluginAnswer>;
}

/** The answer of a plugin that has nothing to say. */
export const NO_ANSWER: PluginAnswer = {
  envs: new Map(),
  mounts: [],
  devices: [],
  annotations: new Map(),
  cdiDevices: [],
};

/** A lease. */
export function lease({
  id = '01k9r4e7aaaaaaaaaaaaaaaaaa',
  owner = {},
  devices = {},
  answer = {},
}: GivenLease = {}): Lease {
  return {
    id,
    state: 'active',
    reason: undefined,
    owner: { bind: 'key', namespace: 'key', name: 'job', part: '', ...owner },
    uid: 1000,
    key: 'k',
    wants: [],
    granted: Object.entries(devices).map(([resource, ids]) => ({
      resource,
      devices: ids.map((text) => {
        const [name = '', nodes = ''] = text.split('@');
        return { id: name, numaNodes: nodes === '' ? [] : nodes.split(',').map(Number) };
      }),
    })),
    answer: { ...NO_ANSWER, ...answer },
    createdAt: 0,
    ttlMs: undefined,
    expiresAt: undefined,
    bootId: 'boot',
  };
}

/** A source of leases that a test changes. */
export class FakeLeases implements LeaseSource {
  #leases: readonly Lease[] = [];
  readonly #listeners: (() => void)[] = [];
  /** How often somebody read them. */
  reads = 0;

  leases(): readonly Lease[] {
    this.reads += 1;
    return this.#leases;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** These are the leases now. */
  set(...leases: readonly Lease[]): void {
    this.#leases = leases;
    for (const listener of this.#listeners) listener();
  }
}
