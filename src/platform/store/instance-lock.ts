// One broker per root: the lock is a unix socket in `state/` on which its holder listens, so that it is free the moment the
// holder is dead, however it died, and can name its holder while it lives.
import { mkdir } from 'node:fs/promises';
import type net from 'node:net';
import path from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { asError, sleep, withDeadline, type Clock } from '../../kernel/clock.js';
import type { Surroundings } from '../../kernel/surroundings.js';
import { stayAwake } from '../time/stay-awake.js';
import { HeldLock, type Held, type InstanceLock } from './held-lock.js';
import { LockDisk } from './lock-disk.js';
import { clearWay, lockId, place, sweep, throughGate } from './lock-file.js';
import { ANSWER_MS, answering, askHolder, type Holder, type Reply } from './lock-talk.js';

/** How long starters take turns at a free lock. One needs milliseconds. */
const GATE_MS = 2000;
/** Somebody was faster: a moment later it holds the lock. */
const FASTER_PAUSE_MS = 10;
/** How often a holder that is about to go is asked again, should its going be missed. */
const ASK_AGAIN_MS = 250;
/** A holder that said nothing is given longer to hear the next question: one that is overrun comes to it late. */
const PATIENCE_MS = 5000;
/** A turn of asking and taking ends before this, whatever the disk does; after it, and the waiting, the request ends in any case. */
const STEPS_MS = 3000;

/** How the lock is asked for. */
export interface LockRequest {
  /** How long a holder that is stopping is waited for. */
  readonly waitMs: number;
  /** Ask a holder to stop, in any phase. */
  readonly takeover: boolean;
  /**
   * How long a holder is waited for in all that has answered us when we asked it to stop: it goes, and nobody would be
   * left if we went, too. Absent, and without `takeover`: `waitMs`.
   */
  readonly askedMs?: number;
}

/** The ports of the lock. */
export interface LockPorts extends Pick<Surroundings, 'clock' | 'random'> {
  /** This process, for others that ask: `Stopping.holder` (platform/process/stopping). */
  readonly holder: () => Holder;
  /** A successor asks us to stop: `Stopping.handOver` (platform/process/stopping). May be called more than once. */
  readonly onTakeover: () => void;
  /** A holder that is about to go is waited for: a sentence for the log, and another one when it takes longer. */
  readonly onWait: (message: string) => void;
}

/** The result of asking for the lock. `diskMs`: how long its disk took in the last turn, milliseconds, without waits for a holder. */
export type LockOutcome =
  | { readonly kind: 'held'; readonly lock: InstanceLock; readonly diskMs: number }
  /** Somebody else has it: one sentence for the operator. */
  | { readonly kind: 'refused'; readonly message: string }
  /**
   * There can be no lock (read-only disk, no permission), so there is no holder either. `hanging` resolves when the step ends
   * that the disk did not answer; until then there is no use in asking again.
   */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly diskMs: number;
      readonly hanging?: Promise<void> | undefined;
    };

/**
 * Takes the lock of a state folder, which is made where it is missing.
 *
 * @param signal gives up; the promise rejects with its reason, and nothing is held
 */
export async function acquireInstanceLock(
  folder: string,
  request: LockRequest,
  ports: LockPorts,
  signal?: AbortSignal,
): Promise<LockOutcome> {
  const { clock } = ports;
  const late = (): Error => new Error('the disk does not answer');
  const disk = new LockDisk(clock);
  const attempt = new Attempt(lockOf(folder), request, ports, disk);
  const longestMs = Math.max(request.waitMs, request.takeover ? (request.askedMs ?? 0) : 0);
  // Nothing else does yet: a broker that waits for its predecessor has no other socket.
  const sleepNow = stayAwake();
  try {
    return await withDeadline(clock, longestMs + STEPS_MS, late, (ending) => attempt.run(folder, ending), signal);
  } catch (failure) {
    if (signal?.aborted === true) throw asError(signal.reason);
    const reason = `there is no lock on ${folder}: ${problemOf(asError(failure))}`;
    return { kind: 'unavailable', reason, diskMs: disk.tookMs, hanging: disk.hanging };
  } finally {
    sleepNow();
  }
}

/** Whether a living process has the lock of a state folder; true where that cannot be seen. */
export async function isLockHeld(folder: string, clock: Clock): Promise<boolean> {
  const reply = await askHolder(lockOf(folder), 'ask', clock).catch(() => undefined);
  if (reply?.kind === 'holder') reply.hangUp();
  return reply?.kind !== 'nobody' && reply?.kind !== 'dead';
}

function lockOf(folder: string): string {
  return path.join(folder, 'lock');
}

/** The system's message, without the name that was tried: that is another one each time, and a condition is told once. */
function problemOf({ errno, message }: NodeJS.ErrnoException): string {
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno);
  return known === undefined ? message : known.join(': ');
}

class Attempt {
  readonly #lock: string;
  readonly #request: LockRequest;
  readonly #ports: LockPorts;
  readonly #disk: LockDisk;
  readonly #begunAt: number;
  #waitMs: number;
  #answerMs: number | undefined;
  #saidMs: number | undefined;
  #gateUntil: number | undefined;

  constructor(lock: string, request: LockRequest, ports: LockPorts, disk: LockDisk) {
    this.#lock = lock;
    this.#disk = disk;
    this.#request = request;
    this.#ports = ports;
    this.#begunAt = ports.clock.mono();
    this.#waitMs = request.waitMs;
  }

  async run(folder: string, signal: AbortSignal): Promise<LockOutcome> {
    await this.#disk.step(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await clearWay(this.#lock);
    });
    for (;;) {
      signal.throwIfAborted();
      const reply = await this.#ask(signal);
      if (reply.kind === 'nobody' || reply.kind === 'dead') {
        const lock = await this.#tryTake();
        if (lock === undefined) await sleep(this.#ports.clock, FASTER_PAUSE_MS, signal);
        else if (signal.aborted) await lock.release();
        else return { kind: 'held', lock, diskMs: this.#disk.tookMs };
      } else {
        const refusal = await this.#wait(reply, signal);
        if (refusal !== undefined) return { kind: 'refused', message: refusal };
      }
      this.#disk.renew();
    }
  }

  /**
   * Through the gate while somebody may be in it for our reason; after that somebody else sits on its name. A step that hangs
   * stays in the gate, because its end may come in the middle of another's steps.
   */
  #tryTake(): Promise<InstanceLock | undefined> {
    const { clock } = this.#ports;
    this.#gateUntil ??= clock.mono() + GATE_MS;
    const isGated = clock.mono() < this.#gateUntil;
    return this.#disk.step(
      () => (isGated ? throughGate(this.#lock, clock, () => this.#take()) : this.#take()),
      (lock) => lock?.release(),
    );
  }

  async #ask(signal: AbortSignal): Promise<Reply> {
    // Most starts find nothing there.
    if ((await this.#disk.step(() => lockId(this.#lock))) === undefined) return { kind: 'nobody' };
    const { takeover, askedMs = 0 } = this.#request;
    const reply = await askHolder(this.#lock, takeover ? 'stop' : 'ask', this.#ports.clock, this.#answerMs, signal);
    if (takeover && reply.kind === 'holder') this.#waitMs = Math.max(this.#waitMs, askedMs);
    if (reply.kind === 'silent') this.#answerMs = Math.min(PATIENCE_MS, Math.max(ANSWER_MS, this.#leftMs));
    return reply;
  }

  get #leftMs(): number {
    return this.#begunAt + this.#waitMs - this.#ports.clock.mono();
  }

  /** Waits for a holder that is about to go; gives a sentence when it is not, or takes too long. */
  async #wait(reply: Extract<Reply, { kind: 'holder' | 'silent' }>, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#ports;
    const folder = path.dirname(this.#lock);
    const seconds = this.#waitMs / 1000;
    const left = this.#leftMs;
    if (reply.kind === 'silent') {
      if (left <= 0)
        return `another broker holds ${folder} but does not answer: look whether its process is stopped, and end it`;
      this.#sayOnce(`another broker holds ${folder} but does not answer; this one waits ${seconds} s for it`);
      await sleep(clock, Math.min(ASK_AGAIN_MS, left), signal);
      return undefined;
    }
    const { pid, phase } = reply.holder;
    try {
      if (phase !== 'stopping' && !this.#request.takeover) {
        return `another broker (pid ${pid}, ${phase}) holds ${folder}: stop it first, or start with --takeover`;
      }
      if (left <= 0)
        return `the broker with pid ${pid} was asked to stop, but still holds ${folder} after ${seconds} s`;
      this.#sayOnce(`the broker with pid ${pid} (${phase}) holds ${folder}; this one waits ${seconds} s for it`);
      await Promise.race([reply.gone, sleep(clock, Math.min(ASK_AGAIN_MS, left), signal)]);
      return undefined;
    } finally {
      reply.hangUp();
    }
  }

  #sayOnce(message: string): void {
    if (this.#saidMs !== this.#waitMs) this.#ports.onWait(message);
    this.#saidMs = this.#waitMs;
  }

  /** Takes the lock, unless somebody was faster. */
  async #take(): Promise<InstanceLock | undefined> {
    const held = await this.#hold();
    const holdAgain = (): Promise<Held | undefined> => throughGate(this.#lock, this.#ports.clock, () => this.#hold());
    return held === undefined ? undefined : new HeldLock(this.#lock, held, holdAgain);
  }

  async #hold(): Promise<Held | undefined> {
    const { clock, random, holder, onTakeover } = this.#ports;
    const dead = await lockId(this.#lock);
    if (dead !== undefined) {
      const reply = await askHolder(this.#lock, 'ask', clock);
      if (reply.kind === 'holder') reply.hangUp();
      if (reply.kind !== 'dead') return undefined;
    }
    const connections = new Set<net.Socket>();
    const server = answering(holder, onTakeover, clock);
    server.on('connection', (socket) => {
      connections.add(socket);
      socket.once('close', () => connections.delete(socket));
    });
    const name = `${holder().pid}-${Math.floor(random.next() * 0x1_0000_0000).toString(36)}`;
    const own = await place(server, this.#lock, dead, name).catch((failure: unknown) => {
      server.close();
      throw failure;
    });
    if (own === undefined) {
      server.close();
      return undefined;
    }
    // Inside the gate: outside it might remove a file that another starter is about to need.
    await sweep(this.#lock).catch(() => undefined);
    return { server, connections, own };
  }
}
