// So many requests of one peer: a few at once, then one each interval; whoever wants more waits for its turn. And so many of
// all, since there may be any number of peers.

/** How many requests at once, and how many milliseconds until there may be one more. */
interface Pace {
  readonly burst: number;
  readonly intervalMs: number;
}

const OF_ONE: Pace = { burst: 40, intervalMs: 50 };
const OF_ALL: Pace = { burst: 80, intervalMs: 25 };
/** Peers that are remembered. */
const MOST_PEERS = 1024;
/** Every user of this machine has all of these addresses, so that they are one peer. */
const LOCAL = 'local';
/** Groups of an IPv6 address that say whose network it is: whoever has one address of it has them all. */
const NETWORK_GROUPS = 4;

/** A turn that was taken. */
export interface Turn {
  /** In how many milliseconds it comes; 0 is now. */
  readonly waitMs: number;
  /** Whoever took it went away before it came. */
  readonly giveBack: () => void;
}

/** The pace of each peer, and of all. Pure: the time comes in. */
export class PeerPace {
  /** When the budget of a peer is full again, monotonic milliseconds. */
  readonly #fullAt = new Map<string, number>();
  #allFullAt = -Infinity;

  /** Takes a turn. @param address of the peer, as the socket has it */
  take(address: string, now: number): Turn {
    const peer = peerOf(address);
    const own = Math.max(now, this.#fullAt.get(peer) ?? now) + OF_ONE.intervalMs;
    this.#fullAt.delete(peer);
    this.#fullAt.set(peer, own);
    if (this.#fullAt.size > MOST_PEERS) this.#forget(now);
    this.#allFullAt = Math.max(now, this.#allFullAt) + OF_ALL.intervalMs;
    return {
      waitMs: Math.max(waitOf(own, OF_ONE, now), waitOf(this.#allFullAt, OF_ALL, now)),
      giveBack: () => {
        const fullAt = this.#fullAt.get(peer);
        if (fullAt !== undefined) this.#fullAt.set(peer, fullAt - OF_ONE.intervalMs);
        this.#allFullAt -= OF_ALL.intervalMs;
      },
    };
  }

  #forget(now: number): void {
    for (const [peer, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(peer);
    for (const peer of this.#fullAt.keys()) {
      if (this.#fullAt.size <= MOST_PEERS) return;
      this.#fullAt.delete(peer);
    }
  }
}

function waitOf(fullAt: number, { burst, intervalMs }: Pace, now: number): number {
  return Math.max(0, fullAt - now - burst * intervalMs);
}

/** Who has an address: addresses that anybody has who has one of them are one peer. */
function peerOf(address: string): string {
  const plain = address.replace(/^::ffff:/, '');
  if (plain === '::1' || plain.startsWith('127.')) return LOCAL;
  if (!plain.includes(':')) return plain;
  const [front = '', back] = plain.split('::');
  const groups = front.split(':');
  const zeros = back === undefined ? 0 : 8 - groups.length - back.split(':').length;
  const all = back === undefined ? groups : [...groups, ...Array<string>(zeros).fill('0'), ...back.split(':')];
  return all.slice(0, NETWORK_GROUPS).join(':');
}
