// Randomness as a port, so that jitter can be repeated in tests.

/** A source of numbers in [0, 1). `systemRandom` (platform/time/system-random) is. */
export interface Random {
  next(): number;
}
