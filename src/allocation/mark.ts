// The entry of the ledger while plugins are asked, so that no other request is given its devices.
import type { Granted, LeaseOwner, PluginAnswer } from '../model/lease.js';
import type { Entry } from './ledger.js';
import type { AllocationRequest } from './request.js';

const NOTHING: PluginAnswer = { envs: new Map(), mounts: [], devices: [], annotations: new Map(), cdiDevices: [] };

/** A lease that is being asked for: without an answer yet, and without an end. */
export function markOf(
  { wants, key, ttlMs }: AllocationRequest,
  granted: readonly Granted[],
  of: {
    readonly id: string;
    readonly owner: LeaseOwner;
    readonly uid: number;
    readonly createdAt: number;
    readonly bootId: string;
  },
): Entry {
  const asked = { key, wants, granted, answer: NOTHING, ttlMs, expiresAt: undefined };
  return {
    lease: { ...of, ...asked, state: 'asking', reason: undefined },
    renewed: undefined,
    endsAt: undefined,
    cdi: undefined,
    bytes: undefined,
  };
}
