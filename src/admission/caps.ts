// Whether there is room for one more plugin. An ordinary user has a quarter of the room, and all ordinary users together have
// three quarters.
import { isTrusted } from '../model/ids.js';
import type { Refusal } from '../model/reasons.js';
import type { NameClaims } from '../model/registration.js';

/** The facts that the decision rests on. */
export interface CapFacts {
  readonly type: string;
  readonly name: string;
  /** The uid of the listener on the endpoint. */
  readonly uid: number;
  readonly ownUid: number;
  /** admission.maxPlugins. */
  readonly maxPlugins: number;
  readonly roster: Pick<NameClaims, 'isKnown' | 'livePlugins' | 'livePluginsOf'>;
}

/** Refuses a new plugin beyond the caps; a plugin that is known counts already. */
export function checkCaps({ type, name, uid, ownUid, maxPlugins, roster }: CapFacts): Refusal | undefined {
  if (roster.isKnown(type, name)) return undefined;
  const refuse = (who: string, has: number): Refusal => ({
    code: 'CAP_PLUGINS',
    message: `${name}: ${who} already ${who === 'the broker' ? 'holds' : 'has'} ${String(has)} plugins (admission.maxPlugins)`,
  });
  if (roster.livePlugins >= maxPlugins) return refuse('the broker', maxPlugins);
  if (isTrusted(uid, ownUid)) return undefined;
  const share = Math.max(1, Math.floor(maxPlugins / 4));
  const { own, strangers } = roster.livePluginsOf(uid, ownUid);
  if (own >= share) return refuse(`uid ${String(uid)}, which may have a quarter of the room,`, own);
  return strangers < 3 * share ? undefined : refuse('users other than root and the broker together', strangers);
}
