// Who is kept out in which name. Pure.
import type { LimitView, PluginView } from '../model/views.js';

/** A quarantine: its plugin (`type/name`), and until when, RFC 3339. */
export interface Quarantine {
  readonly subject: string;
  readonly uid: number;
  readonly until: string;
}

/** The incarnation that speaks for its plugin. */
export function topOf(own: readonly PluginView[]): PluginView | undefined {
  return own.find(({ primary }) => primary) ?? own[0];
}

/**
 * The quarantines of plugins, and those of others that use the name of one: quarantines go by uid, and such a plugin is not kept out.
 *
 * @param entries incarnations by plugin (`type/name`)
 */
export function keptOut(
  limits: readonly LimitView[],
  entries: ReadonlyMap<string, readonly PluginView[]>,
): { readonly own: Map<string, Quarantine>; readonly strangers: readonly Quarantine[] } {
  const own = new Map<string, Quarantine>();
  const strangers: Quarantine[] = [];
  for (const { plugin: subject, uid, quarantinedUntil: until } of limits) {
    if (until === '' || subject === '') continue;
    const known = topOf(entries.get(subject) ?? []);
    if (known !== undefined && known.uid !== uid) strangers.push({ subject, uid, until });
    else if (until > (own.get(subject)?.until ?? '')) own.set(subject, { subject, uid, until });
  }
  return { own, strangers };
}
