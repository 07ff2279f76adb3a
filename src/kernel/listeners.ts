// Listeners, in a fixed order.

/** An ordered list of listeners. */
export class Listeners<Listener> {
  #all: readonly Listener[] = [];

  /** Adds listeners at the end: they are told after those that were added before. */
  follow(...listeners: readonly Listener[]): void {
    this.#all = [...this.#all, ...listeners];
  }

  /** Tells each of them, in order, before this returns. */
  tell(news: (listener: Listener) => void): void {
    for (const listener of this.#all) news(listener);
  }
}
