// A list stream that can be taken away from its plugin and opened again without its session noticing.
import type { Clock } from '../kernel/clock.js';
import { withDeadline } from '../kernel/clock.js';
import type { ListStream, PluginConnection } from '../session/ports.js';
import type { StreamEnd } from '../model/failed-call.js';

/** Wraps one stream of one session. */
export class BreakableStream implements ListStream {
  readonly #connect: () => PluginConnection;
  #current: ListStream;
  /** The connection of a stream that was opened again; the first one belongs to the session. */
  #own: PluginConnection | undefined;
  /** The first list of a stream that was opened again, read ahead of the session. */
  #ahead: Promise<Buffer | undefined> | undefined;
  /** Messages that were read and not done with, of the stream and of those before it. */
  #held = 0;
  #before = 0;
  readonly #tell: (is: 'up' | 'down') => void;
  #isUp = false;
  #isCancelled = false;

  /**
   * @param connect opens a further connection to the same incarnation
   * @param tell is told when there is a stream and when there is none
   */
  constructor(first: ListStream, connect: () => PluginConnection, tell: (is: 'up' | 'down') => void) {
    this.#current = first;
    this.#connect = connect;
    this.#tell = tell;
    this.#turn(true);
  }

  /** Whether its session still wants it and the plugin still serves it. */
  get isOpen(): boolean {
    return !this.#isCancelled && this.#current.end === undefined;
  }

  get end(): StreamEnd | undefined {
    return this.#current.end;
  }

  async read(): Promise<Buffer | undefined> {
    for (;;) {
      const stream = this.#current;
      const ahead = this.#ahead;
      this.#ahead = undefined;
      const message = await (ahead ?? stream.read());
      const isCurrent = stream === this.#current;
      if (message === undefined && !isCurrent) continue;
      if (message === undefined) this.#turn(false);
      else if (isCurrent) this.#held += 1;
      else this.#before += 1;
      return message;
    }
  }

  done(messages: number): void {
    const before = Math.min(messages, this.#before);
    this.#before -= before;
    this.#held -= messages - before;
    this.#current.done(messages - before);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#turn(false);
    this.#current.cancel();
    this.#own?.close();
  }

  /**
   * Cancels the stream and opens it again on a new connection, as a registry does that restarts.
   *
   * @throws Error that says why no list came within the time, in milliseconds
   */
  async break(withinMs: number, clock: Clock): Promise<void> {
    if (!this.isOpen) throw new Error('the stream had ended already');
    const [stream, own] = [this.#current, this.#own];
    this.#turn(false);
    this.#own = this.#connect();
    this.#turn(true);
    this.#current = this.#own.listAndWatch();
    const first = this.#current.read();
    this.#ahead = first;
    this.#before += this.#held;
    this.#held = 0;
    stream.cancel();
    own?.close();
    const late = (): Error => new Error(`no list came within ${withinMs / 1000} s on the new stream`);
    const message = await withDeadline(clock, withinMs, late, () => first);
    if (message !== undefined) return;
    if (this.#isCancelled) throw new Error('its session ended');
    throw new Error(`the new stream ended without a list: ${this.#current.end?.details ?? 'no reason given'}`);
  }

  #turn(isUp: boolean): void {
    if (isUp === this.#isUp) return;
    this.#isUp = isUp;
    this.#tell(isUp ? 'up' : 'down');
  }
}
