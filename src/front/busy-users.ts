// Who keeps the kubelet busy. Pure.

/** Users that are told apart; the calls of further ones count for nobody, as long as others were there first. */
const MOST = 1024;

/** The time that calls of users' plugins took. Root and the broker's own user are one, `undefined`. */
export class BusyUsers {
  readonly #ms = new Map<number | undefined, number>();

  /** A call took so long. */
  add(user: number | undefined, ms: number): void {
    if (this.#ms.has(user) || this.#ms.size < MOST) this.#ms.set(user, (this.#ms.get(user) ?? 0) + ms);
  }

  /** The one whose calls took most; undefined, too, where there were none. */
  most(): number | undefined {
    let [busiest, most]: [number | undefined, number] = [undefined, 0];
    for (const [user, ms] of this.#ms) if (ms > most) [busiest, most] = [user, ms];
    return busiest;
  }

  /** Begins anew. */
  clear(): void {
    this.#ms.clear();
  }
}
