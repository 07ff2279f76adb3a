// How often plugins register together: all of them (`flood.global.register`), and before that those of one ordinary user, who
// may have as many names as there are buckets of `register`, and could register in all of them as often as each may.
import { isTrusted, processKey } from '../model/ids.js';
import type { FloodSubject } from '../model/flood.js';
import type { FloodSettings, RegisterLimit } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import { FairTurns, type Line } from './fair-turns.js';
import { nobodysView } from './limit-views.js';
import type { Limiter } from './limiter.js';
import { entryOf } from './make-room.js';
import type { FloodPorts } from './ports.js';
import type { RegistrationLimit } from './registration-limit.js';

/** Of the permits at once of all together a user has this part: enough for all plugins of one, and for all of them again. */
const BURST_PART = 2;
/** Of the pace of all together. Each registration that is let in is followed by calls to the plugin, and by its list. */
const PACE_PART = 10;
/** Users counted apart; further ones are counted together. */
const MAX_USERS = 1_024;
const OTHERS = -1;

/** What the limits need. */
export type SharedRegistrationPorts = Pick<FloodPorts, 'openLimiter' | 'clock' | 'ownUid' | 'userOf'>;

/** A limit with those who wait for it. */
class SharedLimit {
  readonly uid: number;
  readonly limiter: Limiter;
  readonly turns: FairTurns;
  exceeded = 0;

  constructor(uid: number, settings: RegisterLimit, { openLimiter, clock }: SharedRegistrationPorts) {
    this.uid = uid;
    this.limiter = openLimiter(settings);
    this.turns = new FairTurns(this.limiter, clock);
  }

  close(): void {
    this.turns.close();
    this.limiter.close();
  }
}

/** `global.register` of all, and the share of each ordinary user in it. */
export class SharedRegistrations {
  readonly #ports: SharedRegistrationPorts;
  readonly #all: SharedLimit;
  readonly #shares = new Map<string, SharedLimit>();
  #settings: FloodSettings;

  constructor(settings: FloodSettings, ports: SharedRegistrationPorts) {
    this.#ports = ports;
    this.#settings = settings;
    this.#all = new SharedLimit(-1, settings.globalRegister, ports);
  }

  /** The limit of all together, as it applies to a caller. */
  all(subject: FloodSubject): RegistrationLimit {
    const { globalRegister } = this.#settings;
    return this.#limit(this.#all, subject, globalRegister, 'all plugins together register', 'flood');
  }

  /** The share of a caller's user; undefined of root and the broker's own user. */
  share(subject: FloodSubject): RegistrationLimit | undefined {
    const { ownUid, userOf } = this.#ports;
    if (isTrusted(subject.uid, ownUid)) return undefined;
    const user = userOf(subject.uid);
    const settings = shareOf(this.#settings);
    const share = entryOf(this.#shares, String(user), {
      ...{ most: MAX_USERS, others: String(OTHERS) },
      open: (isShared) => new SharedLimit(isShared ? OTHERS : user, settings, this.#ports),
      isForgettable: ({ limiter }) => limiter.isFull() && limiter.waiting === 0,
      close: (forgotten) => forgotten.close(),
    });
    const whose = share.uid === OTHERS ? 'further users' : `uid ${String(share.uid)}`;
    return this.#limit(share, subject, settings, `plugins of ${whose} together register`, 'their share of flood');
  }

  /** Goes on under other settings with the permits that are left. */
  reload(settings: FloodSettings): void {
    this.#settings = settings;
    this.#all.limiter.reload(settings.globalRegister);
    for (const { limiter } of this.#shares.values()) limiter.reload(shareOf(settings));
  }

  /** The row of all together, and those of users that had to wait. */
  views(): LimitView[] {
    const { mode } = this.#settings;
    const noticed = [...this.#shares.values()].filter(({ limiter, exceeded }) => exceeded > 0 && !limiter.isFull());
    return [this.#all, ...noticed].map(({ uid, limiter, exceeded }) => {
      const slowing =
        limiter.permits() > 0 || exceeded === 0 ? '' : uid < 0 ? 'everybody' : `plugins of uid ${String(uid)}`;
      return nobodysView('global.register', limiter, { uid, mode, exceeded, slowing });
    });
  }

  /** Ends everybody's wait. */
  close(): void {
    this.#all.close();
    for (const share of this.#shares.values()) share.close();
    this.#shares.clear();
  }

  #limit(
    of: SharedLimit,
    { caller, uid }: FloodSubject,
    settings: RegisterLimit,
    doing: string,
    source: string,
  ): RegistrationLimit {
    const { ownUid, userOf } = this.#ports;
    const line: Line = {
      isStranger: !isTrusted(uid, ownUid),
      user: String(userOf(uid)),
      process: caller === undefined ? '' : processKey(caller),
    };
    return {
      limit: 'global.register',
      code: 'FLOOD_GLOBAL',
      limiter: of.limiter,
      join: (longestMs) => of.turns.join(line, longestMs),
      noted: () => (of.exceeded += 1),
      ...{ settings, mode: this.#settings.mode, doing, source },
    };
  }
}

function shareOf({ globalRegister }: FloodSettings): RegisterLimit {
  return {
    ...globalRegister,
    burst: Math.ceil(globalRegister.burst / BURST_PART),
    intervalMs: globalRegister.intervalMs * PACE_PART,
  };
}
