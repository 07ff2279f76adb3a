// An accepted connection as the servers of plugins and clients take it.
import type { Caller } from './ids.js';

/** A connection that may stay. For plugins `ConnectionGate.accept` (flood/connection-gate) makes it. */
export interface GuardedConnection<Stream> {
  readonly caller: Caller | undefined;
  /** The stream that the server reads: the socket itself or the border before it. */
  readonly stream: Stream;
  /** From now on the peer is read only now and then. */
  readonly slowDown: () => void;
  /** A call of it was refused, or accepted. */
  readonly answered: (isAccepted: boolean) => void;
  /** Ends it at once, because of answers that its peer leaves unread, and says why. */
  readonly cutOff?: ((why: string) => void) | undefined;
}
