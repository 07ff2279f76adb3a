import type { Random } from '../../kernel/random.js';

/** The runtime's generator: for jitter, never for secrets. */
export const systemRandom: Random = { next: () => Math.random() };
