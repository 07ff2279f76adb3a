// When a resource that was taken from a kubelet, for want of devices, is offered to it again. For a kubelet each time costs a
// Register and two lists with their checkpoints, so that a plugin that lists nothing and then devices again, all the time,
// must not be its flood. Pure.
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';

/** The first comeback is at once; each further one waits, from the one before it. */
const APART: BackoffBounds = { firstMs: 1000, maxMs: 60_000 };
/** A resource that stayed so long comes back at once again. */
const STAYED_MS = 60_000;
/** Streams that ended here may be open for the kubelet. Their end would cut off the client that a Register makes. */
const STREAMS_MS = 5000;

/** Comebacks of one resource. */
export class Comebacks {
  /** The kubelet that the resource was taken from last. */
  #kubelet: string | undefined;
  #isAway = false;
  #leftAt = -Infinity;
  #backAt = -Infinity;
  /** Those that did not stay. */
  #count = 0;

  /** It was taken from this kubelet. */
  left(kubelet: string, now: number): void {
    if (kubelet !== this.#kubelet || now - this.#backAt >= STAYED_MS) this.#count = 0;
    this.#kubelet = kubelet;
    this.#isAway = true;
    this.#leftAt = now;
  }

  /** Milliseconds until it may be registered with a kubelet: 0 for any but the one that it was taken from. */
  waitMs(kubelet: string, openStreams: number, now: number): number {
    if (!this.#isAway || kubelet !== this.#kubelet) return 0;
    const streamsMs = openStreams > 0 ? this.#leftAt + STREAMS_MS - now : 0;
    const paceMs = this.#count > 0 ? this.#backAt + backoffMs(this.#count, APART, 1) - now : 0;
    return Math.max(0, streamsMs, paceMs);
  }

  /** It was registered with this kubelet. */
  registered(kubelet: string, now: number): void {
    if (this.#isAway && kubelet === this.#kubelet) {
      this.#count++;
      this.#backAt = now;
    }
    this.#isAway = false;
  }
}
