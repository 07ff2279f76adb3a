// How many connections one ordinary user may open, with all its processes together. Each process has a budget of its own
// (connection-budget), and a user as many processes, one after the other, as it likes.
import { strangerUser } from '../model/ids.js';
import type { BucketSettings, FloodSettings } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import { Limiters } from './entries.js';
import { nobodysView } from './limit-views.js';
import type { Limiter } from './limiter.js';
import type { FloodPorts } from './ports.js';
import { figures } from './sentences.js';
import { CALM_MS, Shortage } from './shortage.js';

/** The uid of users that are counted together, because there are too many. */
const OTHERS = -1;

/** A user has at least these: enough for a hundred plugins that start in the same second, with ten connections each. */
const AT_LEAST: BucketSettings = { burst: 1_024, intervalMs: 10 };

/**
 * The ports of the limit. `crowded` is told which users are turned away (one sentence), and when none is any more (undefined).
 */
export type UserConnectionPorts = Pick<
  FloodPorts,
  'openLimiter' | 'metrics' | 'events' | 'clock' | 'crowded' | 'userOf' | 'ownUid'
>;

/** A connection is to be closed at once. */
export interface TurnedAway {
  /** Why, for the first one of a user; undefined for those after it, which cost nothing more. */
  readonly sentence: string | undefined;
}

const SILENTLY: TurnedAway = { sentence: undefined };

interface Entry {
  readonly uid: number;
  readonly limiter: Limiter;
  exceeded: number;
  /** Milliseconds on the monotonic scale. */
  lastExceededMs: number;
}

/** The bucket `connections`, per user that is neither root nor the broker's. */
export class UserConnections {
  readonly #ports: UserConnectionPorts;
  readonly #entries = new Limiters<Entry>();
  /** Somebody is turned away. */
  readonly #shortage: Shortage;
  #settings: FloodSettings;

  constructor(settings: FloodSettings, ports: UserConnectionPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#shortage = new Shortage(ports.clock, () => ports.crowded?.(undefined));
  }

  /**
   * Whether a connection of this uid is to be closed before anything else is asked about it; undefined: it is not. Nothing is
   * spent here: a connection that its process may not open takes none from other processes of the user.
   */
  turnsAway(uid: number | undefined): TurnedAway | undefined {
    const entry = this.#entryOf(uid);
    if (entry === undefined || entry.limiter.permits() > 0) return undefined;
    const now = this.#ports.clock.mono();
    const isNew = entry.exceeded === 0 || now - entry.lastExceededMs > CALM_MS;
    entry.exceeded += 1;
    entry.lastExceededMs = now;
    const isObserved = this.#settings.mode === 'observe';
    this.#ports.metrics.floodExceeded('connections', isObserved ? 'observe' : 'disconnect');
    if (!isObserved) this.#shortage.meet();
    if (!isNew) return isObserved ? undefined : SILENTLY;
    const sentence = `${whoIs(entry)} connect more often than one user may (${figures(entry.limiter.settings)}); the connection is closed, and so are further ones`;
    if (!isObserved) {
      this.#ports.crowded?.(
        `${whoIs(entry)} connect so often that their connections are closed at once, and no plugin of theirs can register: see \`plugin-broker limits\``,
      );
      return { sentence };
    }
    const message = `${sentence}, if flood.mode were enforce`;
    this.#ports.events.record({ type: 'connection', reason: 'CONNECTION_FLOOD', message });
    return undefined;
  }

  /** Counts a connection that was let in. */
  spend(uid: number | undefined): void {
    this.#entryOf(uid)?.limiter.tryTake();
  }

  /** Goes on under other settings with the permits that are left. */
  reload(settings: FloodSettings): void {
    this.#settings = settings;
    this.#entries.reload(bucketOf(settings));
  }

  /** Users that were turned away a moment ago. */
  views(): LimitView[] {
    const { mode } = this.#settings;
    const noticed = this.#entries.all().filter(({ limiter, exceeded }) => exceeded > 0 && !limiter.isFull());
    return noticed.map((entry) => {
      const { uid, limiter, exceeded } = entry;
      const word = limiter.permits() > 0 ? '' : mode === 'observe' ? 'observe: ' : 'disconnect: ';
      return nobodysView('connections', limiter, { uid, mode, exceeded, slowing: `${word}${whoIs(entry)}` });
    });
  }

  /** Stops all limiters. */
  close(): void {
    this.#shortage.close();
    this.#entries.close();
  }

  /** Undefined of root, of the broker's own user and where the caller is unknown. */
  #entryOf(uid: number | undefined): Entry | undefined {
    const user = uid === undefined ? undefined : strangerUser(uid, this.#ports);
    if (user === undefined) return undefined;
    return this.#entries.of(String(user), (isShared) => {
      const limiter = this.#ports.openLimiter(bucketOf(this.#settings));
      return { uid: isShared ? OTHERS : user, limiter, exceeded: 0, lastExceededMs: -Infinity };
    });
  }
}

/** Never less than one process has. */
function bucketOf({ connections }: FloodSettings): BucketSettings {
  return {
    burst: Math.max(connections.burst, AT_LEAST.burst),
    intervalMs: Math.min(connections.intervalMs, AT_LEAST.intervalMs),
  };
}

function whoIs({ uid }: Entry): string {
  return uid === OTHERS ? 'processes of further users' : `processes of uid ${String(uid)}`;
}
