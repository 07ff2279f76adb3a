import { describe, it } from 'node:test';
import { killLoop } from '../../support/kill-loop.js';

void describe('kill -9, the short run', () => {
  void it('loses no acknowledged registration in 25 kills at random instants', async () => {
    await killLoop(25, 7);
  });
});
