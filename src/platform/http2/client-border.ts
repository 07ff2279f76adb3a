// The border before a server that we call: stands between our HTTP/2 client and the connection it opened, and ends the connection
// when the server exceeds its budgets. Servers are guarded against like callers.
import type { Duplex } from 'node:stream';
import { Answers } from './answers.js';
import { Asked } from './asked.js';
import type { BorderOptions } from './border.js';
import { BorderStream } from './border-stream.js';
import { Brake, HOLD } from './brake.js';
import { PeerFault } from './fault.js';
import { Guard } from './guard.js';
import { LazyAlarm } from './lazy-alarm.js';
import { joinSmall, writeTogether } from './pieces.js';
import { readInTurns } from './turned-reads.js';

/**
 * The client's side of a guarded connection, for the HTTP/2 client in place of the socket. It emits no error: a connection that
 * fails is destroyed.
 */
export class ClientBorder extends BorderStream {
  readonly #socket: Duplex;
  readonly #options: BorderOptions;
  readonly #guard: Guard;
  readonly #answers: Answers;
  readonly #asked: Asked;
  readonly #brake: Brake;
  readonly #alarm: LazyAlarm;
  #notBefore = 0;

  /**
   * @param socket freshly connected and not read yet; the border owns it from now on and destroys it with itself
   * @param options `guard`: of its deadlines only `headersMs` counts, since every call has one of its own
   */
  constructor(socket: Duplex, options: BorderOptions) {
    super();
    this.#socket = socket;
    this.#options = options;
    this.#guard = new Guard(options.guard, options.clock.mono());
    this.#answers = new Answers(options.guard, this.#guard);
    this.#asked = new Asked(this.#answers, this.#guard);
    this.#brake = new Brake(socket, () => options.clock.mono());
    this.#alarm = new LazyAlarm(options.clock, () => this.#check());
    readInTurns(socket, this.#brake, options.reads, (chunk) => this.#received(chunk));
    socket.on('error', () => undefined); // it is closed then
    socket.on('end', () => this.#inTurn(() => this.push(null)));
    socket.on('close', () => this.#inTurn(() => this.destroy()));
  }

  override _read(): void {
    this.#brake.letGo(HOLD.SERVER_FULL);
  }

  override _final(done: (error?: Error) => void): void {
    this.#socket.end();
    done();
  }

  override _destroy(_error: Error | null, done: (error: Error | null) => void): void {
    this.#alarm.stop();
    this.#socket.destroy();
    done(null);
  }

  protected override send(chunks: readonly Buffer[], done: (error?: Error) => void): void {
    const pieces = chunks.length === 1 ? chunks : joinSmall(chunks);
    for (const piece of pieces) this.#asked.see(piece);
    writeTogether(this.#socket, pieces, () => done());
  }

  /** A process that ends has hundreds of connections of ours, and each end takes milliseconds until all that hangs on it knows. */
  #inTurn(end: () => void): void {
    if (this.destroyed) return;
    if (this.#options.reads?.takeUp(0, end) ?? true) end();
  }

  #received(chunk: Buffer): void {
    if (this.destroyed) return;
    const now = this.#options.clock.mono();
    this.#guard.tell(now);
    this.#guard.read(chunk.length);
    try {
      const passing = this.#answers.take(chunk, now);
      if (passing.length > 0 && !this.push(passing)) this.#brake.hold(HOLD.SERVER_FULL);
      const unearned = this.#guard.takeUnearned();
      if (unearned > 0) this.#readLater(this.#options.reads?.unearned(unearned) ?? 0, now);
      const { blockSince } = this.#answers;
      if (blockSince !== undefined) this.#alarm.ringAt(blockSince + this.#options.guard.headersMs);
    } catch (fault) {
      this.#cutOff(fault);
    }
  }

  #readLater(ms: number, now: number): void {
    if (ms <= 0) return;
    this.#brake.hold(HOLD.NOT_YET);
    this.#notBefore = now + ms;
    this.#alarm.ringAt(this.#notBefore);
  }

  #check(): void {
    const now = this.#options.clock.mono();
    const { headersMs } = this.#options.guard;
    if (this.#brake.has(HOLD.NOT_YET)) {
      // Nothing is late that was not read.
      const isOver = now >= this.#notBefore;
      this.#alarm.ringAt(isOver ? now + headersMs : this.#notBefore);
      if (isOver) this.#brake.letGo(HOLD.NOT_YET);
      return;
    }
    const { blockSince } = this.#answers;
    if (blockSince === undefined) return;
    const at = blockSince + headersMs;
    if (at > now) this.#alarm.ringAt(at);
    else {
      const what = `the peer did not finish a header block for ${headersMs / 1000} s`;
      this.#cutOff(new PeerFault('SLOW_HEADERS', what));
    }
  }

  #cutOff(cause: unknown): void {
    const { code, message } =
      cause instanceof PeerFault
        ? cause
        : { code: 'PROTOCOL' as const, message: `the border failed: ${String(cause)}` };
    this.#options.onEnd({ code, message });
    this.destroy();
  }
}
