// Stands in for @grpc/proto-loader in the daemon's bundle (scripts/build.mjs): grpc-js imports it at its start for services
// that the daemon never offers. Calling it would be a mistake of ours.

/** Always throws. */
export function loadSync(): never {
  throw new Error('the daemon does not read proto files; its messages are tables in platform/wire');
}
