// The border between an accepted socket and the HTTP/2 server: repairs old clients' requests, ends connections over budget.
import type { Duplex } from 'node:stream';
import type { Clock } from '../../kernel/clock.js';
import type { CallTurns, ReadPace } from '../../model/call-turns.js';
import type { ConnectionEnd, ConnectionEndCode } from '../../model/connection-ends.js';
import type { GuardSettings } from '../../model/settings.js';
import { BorderStream } from './border-stream.js';
import { Brake, HOLD } from './brake.js';
import { Calls } from './calls.js';
import { nextDeadline, shortestLimitMs, type Standing } from './deadlines.js';
import { farewell, requestToLeave } from './farewell.js';
import { malformed, PeerFault } from './fault.js';
import { Guard } from './guard.js';
import { Inbound } from './inbound.js';
import { KeptOctets } from './kept-octets.js';
import { LazyAlarm } from './lazy-alarm.js';
import { Outbound } from './outbound.js';
import { Outlet } from './outlet.js';
import { Retirement } from './retirement.js';
import { Throttle } from './throttle.js';
import { readInTurns } from './turned-reads.js';

/** The options of a border besides the socket. */
export interface BorderOptions {
  readonly guard: GuardSettings;
  readonly clock: Clock;
  /** Octets of requests that are begun and not complete, all of the connection; absent: any. */
  readonly halfRequestBytes?: number;
  /**
   * Called once when the border, and not one of the two sides, ends the connection. `openBorders` (platform/http2/borders),
   * `operatorsDoor` (platform/grpc/operators-door) and FrontDoor (platform/kubelet/front-door) pass it in.
   */
  readonly onEnd: (end: ConnectionEnd) => void;
  /** The turns that calls take; without them each passes at once. */
  readonly turns?: CallTurns | undefined;
  /** How the peer is read; without one as it comes. */
  readonly reads?: ReadPace | undefined;
}

/** A passed deadline is looked at again: when our own loop was late, octets that came in time still wait in the kernel. */
const SECOND_LOOK_MS = 1;

/**
 * The server's side of a guarded connection, for the HTTP/2 server in place of the socket. It emits no error: a connection that
 * fails is destroyed.
 */
export class Border extends BorderStream {
  readonly #socket: Duplex;
  readonly #options: BorderOptions;
  readonly #acceptedAt: number;
  readonly #calls: Calls;
  readonly #guard: Guard;
  readonly #inbound: Inbound;
  readonly #outbound: Outbound;
  readonly #outlet: Outlet;
  readonly #brake: Brake;
  readonly #alarm: LazyAlarm;
  readonly #retirement = new Retirement();
  readonly #throttle: Throttle;
  readonly #shortestMs: number;
  readonly #kept: KeptOctets;
  #unreadSince: number | undefined;
  #halfClosedSince: number | undefined;
  #suspect: ConnectionEndCode | undefined;
  #hasEnded = false;

  /** @param socket freshly accepted and not read yet; the border owns it from now on and destroys it with itself */
  constructor(socket: Duplex, options: BorderOptions) {
    super();
    const now = options.clock.mono();
    this.#socket = socket;
    this.#brake = new Brake(socket, () => options.clock.mono());
    this.#alarm = new LazyAlarm(options.clock, () => this.#check());
    this.#options = options;
    this.#acceptedAt = now;
    this.#calls = new Calls(now, options.halfRequestBytes);
    this.#guard = new Guard(options.guard, now);
    this.#inbound = new Inbound(options.guard, this.#guard, this.#calls);
    this.#outbound = new Outbound(this.#guard, this.#calls, (settings) => this.#inbound.serverAnnounced(settings));
    this.#outlet = new Outlet(socket, () => this.#sent());
    this.#throttle = new Throttle(this.#brake, this.#inbound, this.#alarm, () => options.clock.mono());
    this.#kept = new KeptOctets(options.reads, () => this.#inbound.heldBytes + this.#calls.halfBytes);
    if (options.turns !== undefined) this.#inbound.paceBy(options.turns);
    readInTurns(socket, this.#brake, options.reads, (chunk) => this.#received(chunk));
    socket.on('end', () => this.#inTurn(() => this.#peerClosed()));
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.#inTurn(() => this.destroy()));
    this.#shortestMs = shortestLimitMs(options.guard);
    this.#expect(now);
  }

  /** Looks at further bytes of the peer only after so many milliseconds. Until then nothing of the peer counts as late. */
  readLater(ms: number): void {
    this.#throttle.readLater(ms);
  }

  /**
   * From now on the peer is read only once every so often, and at most one call of it passes each time (a
   * connection that keeps calling after refusals).
   *
   * @param everyMs milliseconds between two reads
   * @param turns that its calls take from now on, with others
   */
  throttle(everyMs: number, turns?: CallTurns): void {
    this.#throttle.begin(everyMs, turns);
  }

  /** The same from the first call on, which passes at once where a turn of `first` is free. Before the peer was read. */
  throttleAfterOneCall(everyMs: number, turns?: CallTurns, first?: CallTurns): void {
    this.#throttle.beginAfterOneCall(everyMs, turns, first);
  }

  /**
   * Asks the peer to finish its calls and to open no more (GOAWAY), and closes the connection after the last one. Calls
   * that are not finished within half a minute are cut off.
   */
  retire(): void {
    if (!this.#retirement.begin(this.#options.clock.mono()) || this.destroyed) return;
    this.#check();
  }

  /** No call is open, and none has begun. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#inbound.blockSince === undefined;
  }

  override _read(): void {
    this.#brake.letGo(HOLD.SERVER_FULL);
  }

  override _final(done: (error?: Error) => void): void {
    this.#halfClosed();
    this.#outlet.end();
    done();
  }

  override _destroy(_error: Error | null, done: (error: Error | null) => void): void {
    this.#alarm.stop();
    this.#kept.forget();
    // Node 20 drops a connection that breaks the protocol without saying GOAWAY through a stream that is no socket.
    const isDropped = !this.#socket.destroyed && this.#outbound.hasFailedCall;
    this.#socket.destroy();
    done(null);
    if (isDropped) this.#report(malformed('the server dropped the connection'));
  }

  #received(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#guard.read(chunk.length);
    this.#admit(chunk);
    this.#throttle.afterRead();
    // A peer that does not read its answers is not read for more questions.
    if (this.#socket.writableLength > 0) this.#brake.hold(HOLD.ANSWERS_UNREAD);
  }

  #admit(chunk: Buffer): void {
    const now = this.#options.clock.mono();
    this.#guard.tell(now);
    try {
      const passing = this.#inbound.take(chunk, now);
      if (passing.length > 0 && !this.push(passing)) this.#brake.hold(HOLD.SERVER_FULL);
      this.#kept.look();
      const unearned = this.#guard.takeUnearned();
      if (unearned > 0) this.readLater(this.#options.reads?.unearned(unearned) ?? 0);
      this.#expect(now);
      this.#goOnRetiring(now);
    } catch (fault) {
      this.#cutOff(fault);
    }
  }

  protected override send(chunks: readonly Buffer[], done: (error?: Error) => void): void {
    const now = this.#options.clock.mono();
    this.#guard.tell(now);
    try {
      for (const chunk of chunks) this.#outbound.see(chunk, now);
    } catch (fault) {
      this.#cutOff(fault);
      done();
      return;
    }
    this.#kept.tell();
    this.#outlet.write(chunks, this.#outbound.isHalfAnswered, done);
    if (this.#socket.writableLength > 0) this.#unreadSince ??= now;
    this.#expect(now);
    this.#goOnRetiring(now);
    this.#judgeAnswer();
  }

  #judgeAnswer(): void {
    const { refusal } = this.#outbound;
    if (refusal !== undefined) this.#cutOff(malformed(`the server gave it up with HTTP/2 error ${refusal}`));
    const [waiting, most] = [this.#socket.writableLength, this.#options.guard.unreadBytes];
    if (waiting <= most) return;
    const what = `the peer left ${waiting} bytes of answers unread where ${most} may wait`;
    this.#cutOff(new PeerFault('UNREAD_BYTES', what));
  }

  #sent(): void {
    if (this.#socket.writableLength > 0) return;
    this.#unreadSince = undefined;
    this.#brake.letGo(HOLD.ANSWERS_UNREAD);
  }

  /** Connections that came together end together, and each end takes a fraction of a millisecond until all that hangs on it knows. */
  #inTurn(act: () => void): void {
    if (this.destroyed) return;
    const come = (): void => {
      if (!this.destroyed) act();
    };
    if (this.#options.reads?.takeUp(0, come) ?? true) come();
  }

  #peerClosed(): void {
    this.push(null);
    this.#halfClosed();
  }

  #halfClosed(): void {
    const now = this.#options.clock.mono();
    this.#halfClosedSince ??= now;
    this.#expect(now);
  }

  #goOnRetiring(now: number): void {
    const step = this.#retirement.step(now, this.#outbound.isBetweenFrames && !this.destroyed, this.#calls.size);
    if (step !== undefined) this.#outlet.flush();
    if (step === 'ask') {
      this.#socket.write(requestToLeave());
      this.#alarm.ringAt(this.#retirement.mayCloseAt ?? Infinity);
    } else if (step === 'close') {
      this.#halfClosed();
      this.#socket.write(farewell('TOO_OLD', 'please connect again', this.#calls.lastId));
      this.#socket.end(() => this.destroy());
    }
  }

  /** Something happened that may have begun a deadline: makes sure that the alarm is not later than it. */
  #expect(now: number): void {
    this.#alarm.ringAt(now + this.#shortestMs);
  }

  #check(): void {
    const now = this.#options.clock.mono();
    this.#throttle.check(now, () => this.#admit(Buffer.alloc(0)));
    this.#goOnRetiring(now);
    const { mayCloseAt } = this.#retirement;
    if (mayCloseAt !== undefined && mayCloseAt > now) this.#alarm.ringAt(mayCloseAt);
    const deadline = nextDeadline(this.#standing(), this.#options.guard);
    if (deadline.at > now) {
      this.#suspect = undefined;
      this.#alarm.ringAt(deadline.at);
    } else if (this.#suspect !== deadline.code) {
      this.#suspect = deadline.code;
      this.#inTurn(() => this.#alarm.ringAt(this.#options.clock.mono() + SECOND_LOOK_MS));
    } else if ((deadline.code === 'TOO_OLD' || deadline.code === 'IDLE') && this.#retirement.since === undefined) {
      this.#report(deadline);
      this.retire();
    } else {
      this.#cutOff(new PeerFault(deadline.code, deadline.message));
    }
  }

  #standing(): Standing {
    return {
      acceptedAt: this.#acceptedAt,
      hasBegun: this.#inbound.hasBegun,
      blockSince: this.#inbound.blockSince,
      halfOpenSince: this.#calls.halfOpenSince(),
      idleSince: this.#calls.idleSince,
      starvedSince: this.#calls.starvedSince(),
      unreadSince: this.#unreadSince,
      halfClosedSince: this.#halfClosedSince,
      retiringSince: this.#retirement.since,
      heldSince: this.#brake.since,
    };
  }

  #cutOff(cause: unknown): void {
    if (this.destroyed) return;
    const { code, message } =
      cause instanceof PeerFault
        ? cause
        : { code: 'PROTOCOL' as const, message: `the border failed: ${String(cause)}` };
    const maySpeak = this.#outbound.isBetweenFrames && this.#outbound.refusal === undefined;
    this.#outlet.flush();
    if (maySpeak && this.#socket.writableLength === 0) {
      this.#socket.write(farewell(code, message, this.#calls.lastId));
    }
    this.#report({ code, message });
    this.destroy();
  }

  #report({ code, message }: ConnectionEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.onEnd({ code, message });
  }
}
