import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '../support/seeded-random.js';
import { tempDir } from '../support/temp-dir.js';

const ROUNDS = Number(process.env['PB_LEASE_KILLS'] ?? 500);
const SEED = Number(process.env['PB_SEED'] ?? 1);
/** Machines that live and die beside each other. */
const MACHINES = 4;
/** Failpoints of a life that are tried one by one; a life has between a hundred and two hundred. */
const FAILPOINTS = 200;
/** The longest life that is killed by the clock, in milliseconds after the start of its process. */
const LONGEST_LIFE_MS = 150;
const LIFE = fileURLToPath(new URL('../support/lease-crash-process.js', import.meta.url));

/** Runs one life. @returns whether it was killed */
async function live(root: string, seed: number, when: string): Promise<boolean> {
  const child = spawn(process.execPath, [LIFE, root, String(seed), when], { stdio: ['ignore', 'ignore', 'pipe'] });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => (words += chunk.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (signal === 'SIGKILL') return true;
  assert.equal(code, 0, `seed ${String(seed)}, killed at ${when}: ${words}`);
  return false;
}

void describe('kill -9 of the allocator', () => {
  void it(`loses no lease that was told and gives no device twice in ${String(ROUNDS)} kills at each failpoint and at random (seed ${String(SEED)})`, async () => {
    const random = seededRandom(SEED);
    let kills = 0;
    let lives = 0;
    const next = (): string => {
      lives += 1;
      if (lives <= FAILPOINTS) return String(lives);
      return random.next() < 0.5
        ? String(1 + Math.floor(random.next() * 100))
        : `t${String(random.next() * LONGEST_LIFE_MS)}`;
    };
    let again = 0;
    const machine = async (): Promise<void> => {
      const root = tempDir();
      // A life that ends before its failpoint is no round.
      while (kills < ROUNDS && lives < 4 * ROUNDS) {
        const when = next();
        if (await live(root, SEED * 100_000 + lives, when)) kills += 1;
      }
      await live(root, SEED, '0');
      const told = readFileSync(path.join(root, 'told'), 'utf8').split('\n');
      again += told.filter((line) => line.includes('"what":"again"')).length;
    };
    await Promise.all(Array.from({ length: MACHINES }, machine));
    assert.ok(kills >= ROUNDS, `${String(kills)} kills in ${String(lives)} lives`);
    assert.ok(again > 0, 'no life was killed between the record of a lease and its answer');
  });
});
