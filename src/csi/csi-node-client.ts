// The CSI handler's ports to the wire.
import type { TransportFault } from '../model/failed-call.js';
import type { PinnedSocket } from '../model/plugin.js';
import type { ServiceListener } from '../model/service-listener.js';
import type { NodeGetInfoAnswer } from './node-info.js';

/**
 * How NodeGetInfo ended: with an answer, or with a gRPC status number and words: those of the driver, or with `fault` those
 * of our own transport.
 */
export type NodeGetInfoResult =
  | { readonly ok: true; readonly answer: NodeGetInfoAnswer }
  | { readonly ok: false; readonly status: number; readonly details: string; readonly fault?: TransportFault };

/**
 * A connection to the service socket of a CSI driver that comes back by itself, by path, when the driver restarts: `csiNodeClients`
 * (platform/grpc/csi-node-client) opens it.
 */
export interface CsiNodeClient {
  /** One call, never repeated here. Never throws. A driver that is away is status UNAVAILABLE. */
  nodeGetInfo(limitMs: number, signal: AbortSignal): Promise<NodeGetInfoResult>;
  /** The same socket is found by another path from now on. */
  renamed(path: string): void;
  /** Ends it; the listener hears nothing more. Idempotent. */
  close(): void;
}

/**
 * Opens connections, first to exactly the socket that was pinned. Takes a hold of its own on the pin. `csiNodeClients`
 * (platform/grpc/csi-node-client) does.
 */
export type OpenCsiNodeClient = (endpoint: PinnedSocket, listener: ServiceListener) => CsiNodeClient;
