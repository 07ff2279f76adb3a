// Whether another instance has the name of a newcomer already, where the policy keeps the incumbent.
import { isTrusted } from '../model/ids.js';
import type { PluginHandler } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { Incumbent, NameClaims } from '../model/registration.js';
import type { PluginPolicy } from '../model/settings.js';

/** An instance that asks for a name. */
export interface Newcomer {
  readonly type: string;
  readonly name: string;
  /** The caller's; at the watcher door the uid that listens on the registration socket. */
  readonly uid: number;
  /** Key of the incarnation of its registering socket. */
  readonly socketKey: string;
  readonly plugin: Pick<PluginPolicy, 'duplicates' | 'uids'>;
  /** Of its type, to ask the incumbent. */
  readonly handler: PluginHandler | undefined;
}

/** Applies `duplicates` to newcomers (docs/specification.md#admission). */
export class Duplicates {
  readonly #roster: Pick<NameClaims, 'incumbent'>;
  readonly #ownUid: number;

  /** @param ownUid the broker's own user */
  constructor(roster: Pick<NameClaims, 'incumbent'>, ownUid: number) {
    this.#roster = roster;
    this.#ownUid = ownUid;
  }

  /** Applies `keep-alive` and `reject`. Asks the incumbent for `keep-alive`, for a second at most. */
  async check(newcomer: Newcomer, signal: AbortSignal): Promise<Refusal | undefined> {
    const { name, handler, plugin } = newcomer;
    if (plugin.duplicates !== 'keep-alive') return this.checkRejected(newcomer);
    const incumbent = this.#incumbent(newcomer);
    if (incumbent === undefined || (await handler?.isAlive(incumbent.id, signal)) !== true) return undefined;
    return {
      code: 'DUPLICATE_KEPT',
      message: `${name}: ${incumbent.endpointPath} serves it and is alive, and duplicates: keep-alive is set`,
    };
  }

  /** Applies `reject`, at once. */
  checkRejected(newcomer: Newcomer): Refusal | undefined {
    const incumbent = newcomer.plugin.duplicates === 'reject' ? this.#incumbent(newcomer) : undefined;
    if (incumbent === undefined) return undefined;
    return {
      code: 'DUPLICATE_REJECTED',
      message: `${newcomer.name}: the name is taken by ${incumbent.endpointPath}, and duplicates: reject is set`,
    };
  }

  /**
   * Another incarnation that has the name and may keep it. An ordinary user that came first may not keep it from root and from
   * the uids of a rule, which take a name from anybody: else it would hold the name for as long as it likes.
   */
  #incumbent({ type, name, uid, socketKey, plugin, handler }: Newcomer): Incumbent | undefined {
    const incumbent = handler?.coexist === true ? undefined : this.#roster.incumbent(type, name);
    if (incumbent === undefined || incumbent.socketKey === socketKey) return undefined;
    const { uid: holder } = incumbent;
    const mayKeep =
      holder === undefined ||
      holder === uid ||
      isTrusted(holder, this.#ownUid) ||
      plugin.uids?.includes(holder) === true;
    return mayKeep ? incumbent : undefined;
  }
}
