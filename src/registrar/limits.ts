// What one connection to a registration socket may do. A kubelet makes two short calls on each; a health check one.

/** Concurrent calls of one connection. */
export const STREAMS = 8;
/** The largest request: a status with the error text of a kubelet. */
export const MAX_REQUEST_BYTES = 64 * 1024;
