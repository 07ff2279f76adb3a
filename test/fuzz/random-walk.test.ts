import { describe, it } from 'node:test';
import { walk } from '../support/random-walk.js';

const WALKS = 200;
const EVENTS = 500;

describe('a hundred thousand events of plugins, operators and the broker itself', () => {
  it('end, walk by walk, in a roster that matches the sockets that are there', async () => {
    for (let seed = 1000; seed < 1000 + WALKS; seed += 1) {
      const world = await walk(seed, EVENTS);
      await world.stop();
    }
  });
});
