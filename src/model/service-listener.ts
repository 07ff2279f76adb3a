// How a handler hears of the connection to a driver's service socket.

/**
 * Hears of a connection that comes back by itself: the handlers of drivers listen to a ServiceConnection
 * (platform/grpc/service-connection).
 */
export interface ServiceListener {
  /** Connected: for the first time, or again after `lost`. */
  up(): void;
  /** Not connected any more, or not connected at a try; it goes on trying. May be called more than once in a row. */
  lost(details: string): void;
}
