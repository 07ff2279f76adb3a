// NodeGetInfo on a kept connection: the adapter of the CSI handler's port.
import type { CsiNodeClient, OpenCsiNodeClient } from '../../csi/csi-node-client.js';
import { asError } from '../../kernel/clock.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { nodeService, NodeGetInfoRequest, NodeGetInfoResponse } from '../../generated/proto/csi/v1/csi.js';
import { WireError } from '../wire/wire-error.js';
import { CallFailed } from './plugin-client.js';
import { ServiceConnection, type ServiceConnectionPorts } from './service-connection.js';

const REQUEST = NodeGetInfoRequest.encode({});
/** A node id and a few labels: 4 KiB where all are as long as they may be (csi/node-info). */
const MAX_ANSWER_BYTES = 16 * 1024;
/** Fields of such an answer, three for each segment: a node has few. */
const MOST_FIELDS = 4096;

/** Opens clients of CSI drivers. */
export function csiNodeClients(ports: Omit<ServiceConnectionPorts, 'maxMessageBytes'>): OpenCsiNodeClient {
  return (endpoint, listener): CsiNodeClient => {
    const connection = new ServiceConnection(endpoint, listener, { ...ports, maxMessageBytes: MAX_ANSWER_BYTES });
    return {
      nodeGetInfo: async (limitMs, signal) => {
        try {
          const bytes = await connection.unary(nodeService.NodeGetInfo.path, REQUEST, limitMs, signal);
          const { nodeId, maxVolumesPerNode, accessibleTopology } = NodeGetInfoResponse.decode(bytes, MOST_FIELDS);
          const segments = accessibleTopology?.segments ?? new Map<string, string>();
          return { ok: true, answer: { nodeId, maxVolumesPerNode, segments } };
        } catch (failure) {
          // An answer that cannot be decoded will not be better the next time.
          const status = failure instanceof WireError ? GRPC_STATUS.DATA_LOSS : GRPC_STATUS.INTERNAL;
          const { message } = asError(failure);
          if (!(failure instanceof CallFailed)) return { ok: false, status, details: message };
          const { fault } = failure;
          return { ok: false, status: failure.status, details: message, ...(fault === undefined ? {} : { fault }) };
        }
      },
      renamed: (path) => connection.renamed(path),
      close: () => connection.close(),
    };
  };
}
