import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';

/**
 * The gRPC library says nothing on stderr from now on, even if the environment asks for it: it would write values of headers as a
 * peer sent them, beside our log. For programs alone; a program that imports our packages shares the library with them.
 */
export function muteLibrary(): void {
  setLogVerbosity(logVerbosity.NONE);
}
