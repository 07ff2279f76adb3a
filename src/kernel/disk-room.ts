// What may be written to a disk so that others still have room on it.

/** The bytes of a disk. */
export interface DiskRoom {
  /** Free for users other than root. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/**
 * The bytes that may be added; negative where less is free than is kept.
 *
 * @param room undefined: it is not known, and everything may be added
 * @param keptBytes stay free
 * @param keptPart of a small disk one so-manieth stays free, where that is less
 */
export function spareBytes(room: DiskRoom | undefined, keptBytes: number, keptPart: number): number {
  return room === undefined ? Infinity : room.freeBytes - Math.min(keptBytes, room.totalBytes / keptPart);
}
