import type { Writable } from 'node:stream';

/** Up to so many octets are joined: servers write frames in small pieces, and copying those costs less than each write. */
const JOIN_BYTES = 16_384;

/** The same octets in as few pieces as is cheap. */
export function joinSmall(pieces: readonly Buffer[]): readonly Buffer[] {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  return bytes > JOIN_BYTES ? pieces : [Buffer.concat(pieces, bytes)];
}

/** Writes pieces, at least one, with one system call where the sink can; `done` is called when the last has left. */
export function writeTogether(sink: Writable, pieces: readonly Buffer[], done: () => void): void {
  const last = pieces.length - 1;
  if (last > 0) sink.cork();
  for (let at = 0; at < last; at++) sink.write(pieces[at]);
  sink.write(pieces[last], done);
  if (last > 0) sink.uncork();
}
