import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';

/**
 * The gRPC library says nothing on stderr from now on, whatever the environment asks of it: it would write values of headers as
 * a peer sent them, beside our log. For programs alone; who imports our packages shares the library with them.
 */
export function muteLibrary(): void {
  setLogVerbosity(logVerbosity.NONE);
}
