// What the DRA handler needs of the wire.
import type { PinnedSocket } from '../model/plugin.js';
import type { ServiceListener } from '../model/service-listener.js';

/** A connection to the service socket of a DRA driver that comes back by itself, by path, when the driver restarts. */
export interface DraServiceConnection {
  /** Ends it; the listener hears nothing more. Idempotent. */
  close(): void;
}

/** Opens connections, first to exactly the socket that was pinned. Takes a hold of its own on the pin. */
export type OpenDraServiceConnection = (endpoint: PinnedSocket, listener: ServiceListener) => DraServiceConnection;
