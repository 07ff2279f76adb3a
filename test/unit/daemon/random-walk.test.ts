import { describe, it } from 'node:test';
import { walk } from '../../support/random-walk.js';

describe('a random walk of registers, losses, restarts, reloads, quarantines and operators', () => {
  it('ends, after things calm down, in a roster that matches the sockets that are there', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const world = await walk(seed, 100);
      await world.stop();
    }
  });
});
