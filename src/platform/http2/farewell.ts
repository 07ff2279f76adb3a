import type { ConnectionEndCode } from '../../model/connection-ends.js';
import { encodeGoaway, ERROR, LAST_STREAM } from './frames.js';

/**
 * The GOAWAY with which a connection is cut off. gRPC libraries log its text, and try calls above `lastCall` again
 * elsewhere, because they know that those were not looked at (RFC 9113 6.8).
 */
export function farewell(code: ConnectionEndCode, message: string, lastCall: number): Buffer {
  return encodeGoaway(lastCall, errorOf(code), `${code}: ${message}`);
}

/** The GOAWAY that asks a peer to finish its calls and open no more (RFC 9113 6.8); no call is refused by it. */
export function requestToLeave(): Buffer {
  return encodeGoaway(LAST_STREAM, ERROR.NO_ERROR, 'please connect again');
}

/** A closed idle or old connection is no error of the peer. */
function errorOf(code: ConnectionEndCode): number {
  if (code === 'IDLE' || code === 'TOO_OLD') return ERROR.NO_ERROR;
  return code === 'PROTOCOL' ? ERROR.PROTOCOL_ERROR : ERROR.ENHANCE_YOUR_CALM;
}
