// Device lists as the inventory, the checkpoint and the views take them: bytes to a sum, to a count, to devices.
import type { ListDecoder } from '../../inventory/inventory.js';
import type { Device } from '../../model/device.js';
import { nextTurn, oneATurn } from '../time/next-turn.js';
import { decodeDeviceList, hashDeviceList } from './device-list.js';
import { DeviceListReader, DeviceMaker, readDevices } from './device-list-reader.js';
import { WireError } from './wire-error.js';

/** Devices that one part has: each takes some microseconds. */
const PART = 512;

/** Of the slices of all lists one has a turn of the loop: hundreds of plugins send theirs at one moment. */
const ownTurn = oneATurn();

/** Checks, sums up and names one list, giving way to others while it is long. */
export const decodeList: ListDecoder = async (raw, maxDevices, signal) => {
  const slicing = { yieldTurn: ownTurn, signal };
  await ownTurn();
  signal.throwIfAborted();
  const read = await decodeDeviceList(raw, maxDevices, slicing);
  if (read.ok) return { ok: true, summary: read.summary, sha256: await hashDeviceList(raw, slicing) };
  return { ok: false, code: read.tooLarge ? 'LIST_TOO_LARGE' : 'REQUEST_INVALID', sentence: read.message };
};

/**
 * Healthy devices of a list that was accepted once, giving way to others while it is long; 0 when this version reads it
 * otherwise.
 */
export async function countHealthy(raw: Buffer): Promise<number> {
  const reader = new DeviceListReader(raw, Infinity);
  try {
    while (!reader.readSlice()) await nextTurn();
    return reader.summary().healthy;
  } catch (problem) {
    if (problem instanceof WireError) return 0;
    throw problem;
  }
}

/** Devices of a list that was accepted once; none when this version reads it otherwise. */
export function devicesOf(raw: Buffer): readonly Device[] {
  return orElse([], () => readDevices(raw));
}

/** As {@link devicesOf}, giving way to others while the list is long. */
export async function devicesInTurns(raw: Buffer): Promise<readonly Device[]> {
  const maker = new DeviceMaker(raw);
  try {
    while (!maker.readSlice()) await nextTurn();
  } catch (problem) {
    if (problem instanceof WireError) return [];
    throw problem;
  }
  return maker.devices();
}

/** The devices of a list part by part, giving way to others before each. */
export async function* partsOf(raw: Buffer): AsyncGenerator<readonly Device[]> {
  const devices = await devicesInTurns(raw);
  for (let from = 0; from < devices.length; from += PART) {
    await nextTurn();
    yield devices.slice(from, from + PART);
  }
}

function orElse<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (problem) {
    if (problem instanceof WireError) return otherwise;
    throw problem;
  }
}
