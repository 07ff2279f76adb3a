// How a refusal says when to come back: google.rpc.Status with google.rpc.RetryInfo in the binary trailer.
import { RetryInfo } from '../../generated/proto/google/rpc/error_details.js';
import { Status } from '../../generated/proto/google/rpc/status.js';

/** The trailer that carries the details of a status. */
export const STATUS_DETAILS_KEY = 'grpc-status-details-bin';

const RETRY_INFO_URL = 'type.googleapis.com/google.rpc.RetryInfo';

/**
 * The bytes for `grpc-status-details-bin`.
 *
 * @param code the gRPC status code, the same as in the status itself
 * @param text the sentence of the status
 * @param retryMs milliseconds until it is worth trying again; negative counts as 0
 */
export function encodeRetryInfo(code: number, text: string, retryMs: number): Buffer {
  const wholeMs = Math.max(0, Math.ceil(retryMs));
  const retryDelay = { seconds: Math.floor(wholeMs / 1000), nanos: (wholeMs % 1000) * 1_000_000 };
  return Status.encode({
    code,
    message: text,
    details: [{ typeUrl: RETRY_INFO_URL, value: RetryInfo.encode({ retryDelay }) }],
  });
}

/**
 * The delay that a status names.
 *
 * @returns milliseconds, or undefined when the details hold no RetryInfo
 * @throws WireError when the bytes are no google.rpc.Status
 */
export function decodeRetryInfo(details: Uint8Array): number | undefined {
  const found = Status.decode(details).details.find((detail) => detail.typeUrl === RETRY_INFO_URL);
  const delay = found === undefined ? undefined : RetryInfo.decode(found.value).retryDelay;
  return delay === undefined ? undefined : delay.seconds * 1000 + delay.nanos / 1_000_000;
}
