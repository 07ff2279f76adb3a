// The connection of a DRA endpoint: the adapter of the DRA handler's port. No call is needed: as with the kubelet, a
// driver is usable while the connection to its service socket stands.
import type { OpenDraServiceConnection } from '../../dra/dra-handler.js';
import { ServiceConnection, type ServiceConnectionPorts } from './service-connection.js';

/** No call is made, so no message is expected. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Opens connections to DRA drivers. */
export function draConnections(ports: Omit<ServiceConnectionPorts, 'maxMessageBytes'>): OpenDraServiceConnection {
  return (endpoint, listener) =>
    new ServiceConnection(endpoint, listener, { ...ports, maxMessageBytes: MAX_MESSAGE_BYTES });
}
