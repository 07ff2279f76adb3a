// What statx(2) is asked and answers about the mount of a descriptor. Pure.

/** AT_EMPTY_PATH and AT_STATX_DONT_SYNC: about the descriptor itself, and no file system is asked for what it has to fetch. */
export const OF_DESCRIPTOR_AS_KNOWN = 0x1000 | 0x4000;
export const STATX_MNT_ID = 0x1000;
/** A struct statx. */
export const STATX_BYTES = 256;
/** Where it has what is answered, 32 bits, and the id of the mount, 64 bits. */
const [MASK_AT, MNT_ID_AT] = [0, 144];

/** The id of the mount; undefined where the system (before Linux 5.8) did not say it. */
export function mountIn(status: Buffer): number | undefined {
  const at = (offset: number): number => status.byteOffset + offset;
  const [mask = 0] = new Uint32Array(status.buffer, at(MASK_AT), 1);
  const [id] = new BigUint64Array(status.buffer, at(MNT_ID_AT), 1);
  return (mask & STATX_MNT_ID) === 0 ? undefined : Number(id);
}
