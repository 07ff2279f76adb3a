// How an answer ended, by its headers or trailers, or by the reset of its call (gRPC over HTTP/2, "Responses" and "Errors").
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { ifPossible } from '../../kernel/if-possible.js';
import { cutWritten } from '../../kernel/written.js';
import { GRPC_STATUS } from '../../model/reasons.js';

/** A status and the words to it. */
export interface AnswerStatus {
  readonly status: number;
  readonly details: string;
}

const LAST_STATUS = 16;
/** Bytes of the words of a peer as they are written: they are kept with its plugin, and a header may be much longer. */
const MAX_WORDS = 2048;

/** Of a peer that answers with HTTP and no status of gRPC (http-grpc-status-mapping of gRPC). */
const OF_HTTP: ReadonlyMap<number, number> = new Map([
  [400, GRPC_STATUS.INTERNAL],
  [401, GRPC_STATUS.UNAUTHENTICATED],
  [403, GRPC_STATUS.PERMISSION_DENIED],
  [404, GRPC_STATUS.UNIMPLEMENTED],
  [429, GRPC_STATUS.UNAVAILABLE],
  [502, GRPC_STATUS.UNAVAILABLE],
  [503, GRPC_STATUS.UNAVAILABLE],
  [504, GRPC_STATUS.UNAVAILABLE],
]);

/** The status in the last header block of an answer. @param http the status of HTTP, which the first block has */
export function statusIn(headers: IncomingHttpHeaders, http: number | undefined): AnswerStatus {
  const { 'grpc-status': code, 'grpc-message': words } = headers;
  if (typeof code !== 'string') return ofHttp(http);
  const number = /^\d{1,2}$/.test(code) ? Number(code) : LAST_STATUS + 1;
  const details = typeof words === 'string' ? cutWritten(unescaped(words), MAX_WORDS) : '';
  return { status: number > LAST_STATUS ? GRPC_STATUS.UNKNOWN : number, details };
}

/** The status of an answer that has none but that of HTTP. */
export function ofHttp(http: number | undefined): AnswerStatus {
  if (http === undefined) return { status: GRPC_STATUS.UNKNOWN, details: 'No status information received' };
  return { status: OF_HTTP.get(http) ?? GRPC_STATUS.UNKNOWN, details: `Received HTTP status code ${http}` };
}

/** The meaning of a reset, by its error code. */
export function ofReset(code: number): AnswerStatus {
  switch (code) {
    case constants.NGHTTP2_NO_ERROR:
      return reset(GRPC_STATUS.INTERNAL, `Received RST_STREAM with code ${code} (Call ended without gRPC status)`);
    case constants.NGHTTP2_REFUSED_STREAM:
      return reset(GRPC_STATUS.UNAVAILABLE, 'Stream refused by server');
    case constants.NGHTTP2_CANCEL:
      return reset(GRPC_STATUS.CANCELLED, 'Call cancelled');
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return reset(GRPC_STATUS.RESOURCE_EXHAUSTED, 'Bandwidth exhausted or memory limit exceeded');
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return reset(GRPC_STATUS.PERMISSION_DENIED, 'Protocol not secure enough');
    default:
      return reset(GRPC_STATUS.INTERNAL, `Received RST_STREAM with code ${code}`);
  }
}

function reset(status: number, details: string): AnswerStatus {
  return { status, details };
}

/** Percent-encoding; words that are not encoded as they should be stay as they are. */
function unescaped(words: string): string {
  return ifPossible(() => decodeURIComponent(words)) ?? words;
}
