import { describe, it } from 'node:test';
import { killLoop } from '../support/kill-loop.js';

const KILLS = Number(process.env['PB_KILLS'] ?? 500);
const SEED = Number(process.env['PB_SEED'] ?? 1);

void describe('kill -9', () => {
  void it(`loses no acknowledged registration in ${String(KILLS)} kills at random instants (seed ${String(SEED)})`, async () => {
    await killLoop(KILLS, SEED);
  });
});
