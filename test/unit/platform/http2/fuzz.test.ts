import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../../support/seeded-random.js';
import { BorderBed } from '../../../support/http2/border-bed.js';
import { fuzzMany, honestClient, mutate, pieces } from '../../../support/http2/fuzz.js';
import { MirrorServer } from '../../../support/http2/mirror-server.js';

void describe('the border under damaged input', () => {
  void it('finds no fault with an honest client, and its server gets every call', async () => {
    for (let seed = 0; seed < 200; seed++) {
      const frames = honestClient(seededRandom(seed));
      const bed = new BorderBed({ windowUpdates: 1e9 }).serve();
      await bed.send(Buffer.concat(frames));
      const server = new MirrorServer();
      server.take(bed.servedBytes);
      bed.border.destroy();
      assert.deepEqual(bed.codes, [], `seed ${seed}`);
      assert.ok(server.requests.length > 0);
    }
  });

  void it('finds a fault or lets pass what a server understands, and nothing else comes of 5,000 inputs', () => {
    assert.doesNotThrow(() => fuzzMany(1, 5_000));
  });

  void it('emits no error and leaves no timer as a stream', async () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = seededRandom(seed);
      const bed = new BorderBed().serve();
      const errors: unknown[] = [];
      bed.border.on('error', (error) => errors.push(error));
      for (const piece of pieces(random, mutate(random, honestClient(random))).slice(0, 300)) bed.client.write(piece);
      await bed.settle();
      bed.client.end();
      await bed.settle();
      bed.border.destroy();
      await bed.settle();
      assert.deepEqual([errors, bed.clock.pending], [[], 0], `seed ${seed}`);
      for (const { message } of bed.ends) assert.doesNotMatch(message, /the border failed/, `seed ${seed}`);
    }
  });
});
