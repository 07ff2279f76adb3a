/**
 * Options of a socket that is paused where its peer sends too much: otherwise it goes on reading until its buffer is full, and each
 * octet that a peer sends by itself is a read. A socket that is not paused is read as ever.
 */
export const NO_READ_AHEAD = { highWaterMark: 1 } as const;
