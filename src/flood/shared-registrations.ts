// How often plugins register together: all of them (`flood.global.register`), before that those of all ordinary users, and before
// that those of one, who may have as many names as there are buckets of `register`, and could register in all of them as often as each may.
import { processKey, strangerUser } from '../model/ids.js';
import type { FloodSubject } from '../model/flood.js';
import type { FloodSettings, RegisterLimit } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import { Limiters } from './entries.js';
import { FairTurns, type TurnTaker } from './fair-turns.js';
import { nobodysView } from './limit-views.js';
import type { Limiter } from './limiter.js';
import type { FloodPorts } from './ports.js';
import type { RegistrationLimit } from './registration-limit.js';

/** The part of the shared burst that one user has: about as many as it may have plugins (a quarter of admission.maxPlugins). */
const BURST_PART = 4;
/** The part of the shared pace that one user has. Calls to the plugin and its list follow each registration that is let in. */
const PACE_PART = 10;
/** All ordinary users together have as much as so many: with a share for each of ten users root would have none. */
const WHOLE_SHARES = 2;
/** The uid of limits that no user has alone. */
const NOBODYS = -1;

/** The ports of the limits. */
export type SharedRegistrationPorts = Pick<FloodPorts, 'openLimiter' | 'clock' | 'ownUid' | 'userOf'>;

/** A limit with the registrations that wait for it. */
class SharedLimit {
  /** -1: nobody's in particular. */
  readonly uid: number;
  /** The callers that it slows: `everybody`, `plugins of uid 4001`. */
  readonly who: string;
  readonly limiter: Limiter;
  readonly turns: FairTurns;
  exceeded = 0;

  constructor(uid: number, who: string, settings: RegisterLimit, ports: SharedRegistrationPorts) {
    const { openLimiter, clock } = ports;
    this.uid = uid;
    this.who = who;
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
  readonly #ordinary: SharedLimit;
  readonly #shares = new Limiters<SharedLimit>({
    isForgettable: ({ limiter }) => limiter.isFull() && limiter.waiting === 0,
    close: (share) => share.close(),
  });
  #settings: FloodSettings;

  constructor(settings: FloodSettings, ports: SharedRegistrationPorts) {
    this.#ports = ports;
    this.#settings = settings;
    this.#all = new SharedLimit(NOBODYS, 'everybody', settings.globalRegister, ports);
    this.#ordinary = new SharedLimit(NOBODYS, 'plugins of ordinary users', sharesOf(settings, WHOLE_SHARES), ports);
  }

  /**
   * The limits of a caller that it has with others, each to be looked at when it has its permit of the one before: of its user and of all
   * ordinary users (undefined: of root and the broker's own user), and of all together.
   */
  limits(subject: FloodSubject): readonly (() => RegistrationLimit | undefined)[] {
    return [() => this.#share(subject), () => this.#ofOrdinary(subject), () => this.#ofAll(subject)];
  }

  #ofAll(subject: FloodSubject): RegistrationLimit {
    const { globalRegister: settings } = this.#settings;
    return this.#limit(this.#all, subject, { settings, doing: 'all plugins together register', source: 'flood' });
  }

  #share(subject: FloodSubject): RegistrationLimit | undefined {
    const user = strangerUser(subject.uid, this.#ports);
    if (user === undefined) return undefined;
    const settings = sharesOf(this.#settings, 1);
    const share = this.#shares.of(String(user), (isShared) =>
      isShared
        ? new SharedLimit(NOBODYS, 'plugins of further users', settings, this.#ports)
        : new SharedLimit(user, `plugins of uid ${String(user)}`, settings, this.#ports),
    );
    const words = { doing: `${share.who} together register`, source: 'their share of flood' };
    return this.#limit(share, subject, { settings, ...words });
  }

  #ofOrdinary(subject: FloodSubject): RegistrationLimit | undefined {
    if (strangerUser(subject.uid, this.#ports) === undefined) return undefined;
    const settings = sharesOf(this.#settings, WHOLE_SHARES);
    const words = { doing: `${this.#ordinary.who} together register`, source: 'their share of flood' };
    return this.#limit(this.#ordinary, subject, { settings, ...words });
  }

  /** Goes on under other settings with the permits that are left. */
  reload(settings: FloodSettings): void {
    this.#settings = settings;
    this.#all.limiter.reload(settings.globalRegister);
    this.#ordinary.limiter.reload(sharesOf(settings, WHOLE_SHARES));
    this.#shares.reload(sharesOf(settings, 1));
  }

  /** The row of all together, and those of ordinary users that had to wait. */
  views(): LimitView[] {
    const { mode } = this.#settings;
    const noticed = [this.#ordinary, ...this.#shares.all()].filter(
      ({ limiter, exceeded }) => exceeded > 0 && !limiter.isFull(),
    );
    return [this.#all, ...noticed].map(({ uid, who, limiter, exceeded }) => {
      const slowing = limiter.permits() > 0 || exceeded === 0 ? '' : who;
      return nobodysView('global.register', limiter, { uid, mode, exceeded, slowing });
    });
  }

  /** Ends everybody's wait. */
  close(): void {
    this.#all.close();
    this.#ordinary.close();
    this.#shares.close();
  }

  #limit(
    of: SharedLimit,
    { caller, uid }: FloodSubject,
    told: Pick<RegistrationLimit, 'settings' | 'doing' | 'source'>,
  ): RegistrationLimit {
    const stranger = strangerUser(uid, this.#ports);
    const taker: TurnTaker = {
      isStranger: stranger !== undefined,
      user: String(stranger ?? uid),
      process: caller === undefined ? '' : processKey(caller),
    };
    return {
      limit: 'global.register',
      code: 'FLOOD_GLOBAL',
      limiter: of.limiter,
      join: (longestMs) => of.turns.join(taker, longestMs),
      noted: () => (of.exceeded += 1),
      mode: this.#settings.mode,
      ...told,
    };
  }
}

/** @param users as much as so many have */
function sharesOf({ globalRegister }: FloodSettings, users: number): RegisterLimit {
  return {
    ...globalRegister,
    burst: Math.ceil((globalRegister.burst * users) / BURST_PART),
    intervalMs: (globalRegister.intervalMs * PACE_PART) / users,
  };
}
