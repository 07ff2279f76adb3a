// The problems of bytes that came over the wire.

/** Bytes that are no valid message, or a value that no message can carry. The sentence names message and field. */
export class WireError extends Error {
  override readonly name = 'WireError';
}
