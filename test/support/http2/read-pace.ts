import type { ReadPace } from '../../../src/model/call-turns.js';

/** A pace that takes up each read at once, and then rests. @param unearned as in ReadPace */
export function resting(unearned: ReadPace['unearned']): ReadPace {
  return { unearned, takeUp: () => true, keep: () => false };
}

/** A pace in which no read has its turn before the test says so. */
export class HeldTurns implements ReadPace {
  /** The reads that wait, in their order; each is called for its turn. */
  readonly waiting: (() => void)[] = [];

  unearned(): number {
    return 0;
  }

  keep(): boolean {
    return false;
  }

  takeUp(_bytes: number, turnHasCome: () => void): boolean {
    this.waiting.push(turnHasCome);
    return false;
  }
}

/** A pace in which all connections together may keep so many octets of requests that are not complete. */
export class KeptAccount implements ReadPace {
  /** What they keep. */
  bytes = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  unearned(): number {
    return 0;
  }

  takeUp(): boolean {
    return true;
  }

  keep(change: number): boolean {
    this.bytes += change;
    return this.bytes > this.#most;
  }
}
