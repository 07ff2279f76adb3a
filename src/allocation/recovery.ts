// Leases of an earlier life of the broker: which of them go on, and how. Decides; others act.
import type { Stamp } from '../kernel/clock.js';
import { ifPossible } from '../kernel/if-possible.js';
import type { LeaseReason } from '../model/allocation-reasons.js';
import type { EventDraft } from '../model/event.js';
import type { CdiClaim, Granted, GrantedDevice, LeaseRecord, LedgerState } from '../model/lease.js';
import type { LeaseIds } from './ids.js';
import { entryOf, NO_ANSWER, type Entry, type Ledger } from './ledger.js';
import type { AllocationPorts, OwnerPort } from './ports.js';

/** Whether a lease goes on. */
export type Revived =
  | { readonly kind: 'lives'; readonly entry: Entry }
  | { readonly kind: 'over'; readonly entry: Entry; readonly reason: LeaseReason };

type Needs = Pick<AllocationPorts, 'owners' | 'clock' | 'bootId' | 'bootMs'>;

/**
 * Takes up a lease of the checkpoint. After a reboot processes and control groups are dead by definition, and keys keep
 * their devices until their owner confirms them; else an owner that is seen is as before.
 */
export function revived(record: LeaseRecord, ports: Needs): Revived {
  const { id, uid, key, owner, wants, granted, answer, createdAt, ttlMs, bootId, recovers, renewed } = record;
  const isSameBoot = bootId === ports.bootId;
  const leftMs = ttlMs === undefined || renewed === undefined ? undefined : timeLeft(ttlMs, renewed, isSameBoot, ports);
  const expiresAt = leftMs === undefined ? undefined : ports.clock.wall() + leftMs;
  const isSeen = owner.bind !== 'key' && isSameBoot && !hasEnded({ owner, uid }, ports.owners);
  const unseen = recovers === undefined ? 'owner-unseen' : 'ledger-recovered';
  const [state, reason] = isSeen ? (['active', undefined] as const) : (['unconfirmed', unseen] as const);
  const endsAt = leftMs === undefined ? undefined : ports.clock.mono() + leftMs;
  // Member by member: V8 gives each object that is spread and added to a hidden class of its own, of 400 bytes.
  const entry = entryOf({
    ...{ id, state, reason, owner, uid, key, wants, granted, answer, createdAt, ttlMs, expiresAt, bootId },
    ...(recovers === undefined ? {} : { recovers }),
  });
  entry.renewed = renewed;
  entry.endsAt = endsAt;
  if (leftMs !== undefined && leftMs <= 0) return { kind: 'over', entry, reason: 'ttl-over' };
  if (owner.bind === 'key') return { kind: 'lives', entry };
  if (!isSameBoot) return { kind: 'over', entry, reason: 'boot-over' };
  return isSeen ? { kind: 'lives', entry } : { kind: 'over', entry, reason: 'owner-ended' };
}

/**
 * Whether the owner of a lease of `uid` is known to have ended; a key never has, nor has an owner that cannot be looked at. Never throws.
 */
export function hasEnded({ owner, uid }: Pick<LeaseRecord, 'owner' | 'uid'>, owners: OwnerPort): boolean {
  const { process, cgroup } = owner;
  // Called at a start and by alarms: an exception here would end the broker, and each one after it.
  const isThere = ifPossible(() => {
    if (process !== undefined) return owners.isAlive(process, uid);
    return cgroup === undefined || owners.isPopulated(cgroup, uid);
  });
  return isThere === false;
}

/** By the uptime of the machine, which nobody sets; after a boot by the clock, and never more than the whole time. */
function timeLeft(ttlMs: number, renewed: Stamp, isSameBoot: boolean, { clock, bootMs }: Needs): number {
  const passedMs = isSameBoot ? bootMs() - renewed.bootMs : clock.wall() - renewed.wallMs;
  return Math.min(ttlMs, ttlMs - passedMs);
}

/**
 * Leases for devices that CDI files of this boot name and no known lease has: the newest checkpoint held them, and their owners
 * may use them still. Those files stay until the lease ends.
 */
export function recoveredLeases(
  claims: readonly CdiClaim[],
  ledger: Ledger,
  ids: LeaseIds,
  { clock, bootId }: Needs,
): readonly Entry[] {
  for (const { leaseId } of claims) ids.seen(leaseId);
  const { granted, recovers } = lostDevices(claims, ledger);
  if (granted.length === 0) return [];
  let key = 'recovered';
  for (let more = 2; ledger.ofKey(0, key) !== undefined; more += 1) key = `recovered-${String(more)}`;
  const entry = entryOf({
    id: ids.next(),
    state: 'unconfirmed',
    reason: 'ledger-recovered',
    owner: { bind: 'key', namespace: 'key', name: key, part: '' },
    uid: 0,
    key,
    wants: granted.map((one) => ({
      resource: one.resource,
      count: one.devices.length,
      ids: one.devices.map(({ id }) => id),
      numa: 'prefer',
    })),
    granted,
    answer: NO_ANSWER,
    createdAt: clock.wall(),
    ttlMs: undefined,
    expiresAt: undefined,
    bootId,
    recovers,
  });
  return [entry];
}

/** The devices that no known lease has, and the leases that had them. */
function lostDevices(
  claims: readonly CdiClaim[],
  ledger: Ledger,
): { readonly granted: readonly Granted[]; readonly recovers: readonly string[] } {
  const devices = new Map<string, Map<string, GrantedDevice>>();
  const recovers = new Set<string>();
  for (const { leaseId, devices: claimed } of claims) {
    for (const [resource, named] of claimed) {
      const taken = ledger.takenOf(resource);
      const lost = named.filter(({ id }) => !taken.has(id));
      if (lost.length === 0) continue;
      recovers.add(leaseId);
      const known = devices.get(resource) ?? new Map<string, GrantedDevice>();
      devices.set(resource, known);
      for (const device of lost) known.set(device.id, device);
    }
  }
  const granted = [...devices].map(([resource, lost]) => ({ resource, devices: [...lost.values()] }));
  return { granted, recovers: [...recovers] };
}

/** The event for operators when leases were lost with a checkpoint. */
export function lossEvent(state: LedgerState | 'unread'): EventDraft | undefined {
  if (state === 'stale') {
    const message =
      'the newest checkpoint is lost: leases that were in it alone are not known; `plugin-broker allocations reset` ends this state';
    return { type: 'checkpoint', reason: 'ledger-recovered', message };
  }
  if (state !== 'unknown') return undefined;
  const message =
    'the checkpoint is lost, and with it what was given out: nothing is given out until `plugin-broker allocations reset`';
  return { type: 'checkpoint', reason: 'LEDGER_UNKNOWN', message };
}
