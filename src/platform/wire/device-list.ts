// Reads a ListAndWatchResponse as it comes from a plugin: by hand, because lists are long and come often, and in slices,
// because the event loop belongs to all plugins.
import { createHash } from 'node:crypto';
import type { ListSummary } from '../../model/device.js';
import { DeviceListReader } from './device-list-reader.js';
import { WireError } from './wire-error.js';

/** Bytes hashed before others get their turn: well under a millisecond. */
const HASH_SLICE_BYTES = 512 * 1024;

/** How to share the event loop while a long list is read. */
export interface Slicing {
  /** Resolves after all other waiting work had its turn: `nextTurn` (platform/time/next-turn). Not called for short lists. */
  readonly yieldTurn: () => Promise<void>;
  /** When it aborts, the work is dropped and the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

/** The result of a list, or why it was refused: one sentence for LIST_TOO_LARGE (`tooLarge`) or REQUEST_INVALID. */
export type DecodedList =
  | { readonly ok: true; readonly summary: ListSummary }
  | { readonly ok: false; readonly tooLarge: boolean; readonly message: string };

/**
 * Checks and sums up one list.
 *
 * @param bytes the message as received; not kept
 * @param maxDevices admission.maxDevices; every entry counts, repeated ids too
 */
export async function decodeDeviceList(bytes: Buffer, maxDevices: number, slicing: Slicing): Promise<DecodedList> {
  const reader = new DeviceListReader(bytes, maxDevices);
  try {
    while (!reader.readSlice()) await giveWay(slicing);
    return { ok: true, summary: reader.summary() };
  } catch (problem) {
    if (!(problem instanceof WireError)) throw problem;
    return { ok: false, tooLarge: reader.isOverCap, message: problem.message };
  }
}

/** The sha256 of a list as it was received, in hexadecimal: the name of the list for the checkpoint and for comparing. */
export async function hashDeviceList(bytes: Uint8Array, slicing: Slicing): Promise<string> {
  const hash = createHash('sha256');
  for (let start = 0; ; start += HASH_SLICE_BYTES) {
    hash.update(bytes.subarray(start, start + HASH_SLICE_BYTES));
    if (start + HASH_SLICE_BYTES >= bytes.length) return hash.digest('hex');
    await giveWay(slicing);
  }
}

async function giveWay(slicing: Slicing): Promise<void> {
  slicing.signal.throwIfAborted();
  await slicing.yieldTurn();
  slicing.signal.throwIfAborted();
}
