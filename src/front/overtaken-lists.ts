// Lists that an Allocate overtakes on their way to the kubelet. One that has not left is not sent: it would reach the kubelet
// while that gives devices. One that it has read by then is let go on: to end it would mend nothing, and cost the answer.
import type { Clock } from '../kernel/clock.js';

/** Each List dials the kubelet anew; after so long the kubelet has it. */
const ON_ITS_WAY_MS = 100;

/** Lists that may not have left yet. */
export class OvertakenLists {
  readonly #clock: Pick<Clock, 'mono'>;
  readonly #begun = new Set<{ readonly controller: AbortController; readonly at: number }>();

  constructor(clock: Pick<Clock, 'mono'>) {
    this.#clock = clock;
  }

  /** One begins. @returns aborts when it is overtaken */
  begun(): AbortSignal {
    this.#drop();
    const controller = new AbortController();
    this.#begun.add({ controller, at: this.#clock.mono() });
    return controller.signal;
  }

  /** An Allocate came. */
  overtake(): void {
    this.#drop();
    for (const { controller } of this.#begun) controller.abort(new Error('the kubelet began to give devices'));
    this.#begun.clear();
  }

  #drop(): void {
    const since = this.#clock.mono() - ON_ITS_WAY_MS;
    for (const one of this.#begun) if (one.at <= since) this.#begun.delete(one);
  }
}
