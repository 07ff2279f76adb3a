// The lock of a state folder while we hold it: its name is taken again where somebody removed it, and given back at the end.
import { mkdir, unlink } from 'node:fs/promises';
import type net from 'node:net';
import path from 'node:path';
import { lockId } from './lock-file.js';

/** The lock while we hold it: HeldLock here; LateLock (platform/store/late-lock) where it could not be taken at the start. */
export interface InstanceLock {
  /**
   * Takes its name again where somebody removed it, with its directory or without; another's is left alone.
   *
   * @returns whether the name was gone and is there again
   * @throws Error of the disk
   */
  look(): Promise<boolean>;
  /** Gives it up; a waiting process gets it at once. Must not be called while a write hangs. Idempotent. */
  release(): Promise<void>;
}

/** A name that was taken, and its holder. */
export interface Held {
  readonly server: net.Server;
  readonly connections: ReadonlySet<net.Socket>;
  /** By lockId. */
  readonly own: string;
}

/** The lock that was taken. */
export class HeldLock implements InstanceLock {
  readonly #lock: string;
  readonly #hold: () => Promise<Held | undefined>;
  #held: Held;
  #looking: Promise<boolean> | undefined;
  #isReleased = false;

  /**
   * @param lock its path
   * @param hold takes the name once more, through the gate; undefined where somebody else has it
   */
  constructor(lock: string, held: Held, hold: () => Promise<Held | undefined>) {
    this.#lock = lock;
    this.#held = held;
    this.#hold = hold;
  }

  look(): Promise<boolean> {
    if (this.#isReleased) return Promise.resolve(false);
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#looking?.catch(() => undefined);
    await release(this.#lock, this.#held);
  }

  async #look(): Promise<boolean> {
    if ((await lockId(this.#lock)) !== undefined) return false;
    await mkdir(path.dirname(this.#lock), { recursive: true, mode: 0o700 });
    const held = await this.#hold();
    if (held === undefined) return false;
    const before = this.#held;
    this.#held = held;
    stopAnswering(before);
    return true;
  }
}

/** The name goes first, while we still answer: nobody takes it for a dead one, and removes it when it is another's. */
async function release(lock: string, held: Held): Promise<void> {
  const { server, own } = held;
  if (!server.listening) return;
  try {
    if ((await lockId(lock)) === own) await unlink(lock);
  } finally {
    stopAnswering(held);
  }
}

function stopAnswering({ server, connections }: Held): void {
  server.close();
  for (const socket of connections) socket.destroy();
}
