import type { ConnectionEndCode } from '../../model/connection-ends.js';

/**
 * The one error of this folder: the peer gave a reason to end its connection. Thrown where it is noticed, caught at the single
 * place where the border takes bytes; it never leaves the border.
 */
export class PeerFault extends Error {
  override readonly name = 'PeerFault';
  readonly code: ConnectionEndCode;

  /** @param message one sentence with the figures, no trailing period */
  constructor(code: ConnectionEndCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A fault against RFC 9113 or RFC 7541. */
export function malformed(what: string): PeerFault {
  return new PeerFault('PROTOCOL', `the peer broke the protocol: ${what}`);
}
