import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, it } from 'node:test';
import { seededRandom } from '../support/seeded-random.js';
import { eventually } from '../support/eventually.js';
import { EchoClient } from '../support/http2/echo-client.js';
import { EchoServer } from '../support/http2/echo-server.js';
import { fuzzMany, honestClient, mutate, pieces } from '../support/http2/fuzz.js';
import { usedBytes } from '../support/used-memory.js';

/** Damaged inputs in memory; one in forty of them goes through a real socket as well. */
const INPUTS = Number(process.env['PB_FUZZ_INPUTS'] ?? 400_000);
/** The first seed: another one is another set of inputs, the same one repeats it. */
const FIRST_SEED = Number(process.env['PB_FUZZ_SEED'] ?? 1);
const MIB = 1024 * 1024;
/** More than a warm heap moves by itself, far less than one octet kept of each input. */
const GROWTH_BYTES = 16 * MIB;

/** One damaged client on a real socket. Resolves when the connection has closed. */
function attack(path: string, seed: number): Promise<void> {
  const random = seededRandom(seed);
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.on('connect', () => {
      for (const piece of pieces(random, mutate(random, honestClient(random))).slice(0, 50)) socket.write(piece);
      // Some wait for what comes, some hang up.
      if (random.next() < 0.5) socket.end();
      else socket.destroySoon();
    });
    socket.resume();
  });
}

void describe('the border', () => {
  void it(`withstands ${INPUTS} damaged inputs without an exception, and without growing`, () => {
    const share = Math.ceil(INPUTS / 10);
    fuzzMany(FIRST_SEED, share);
    const warm = usedBytes();
    fuzzMany(FIRST_SEED + share, INPUTS - share);
    const growth = usedBytes() - warm;
    assert.ok(growth < GROWTH_BYTES, `grew by ${Math.round(growth / MIB)} MiB`);
  });

  const sockets = Math.ceil(INPUTS / 40);
  void it(`serves on through ${sockets} damaged clients on real sockets, and holds nothing of them`, async (t) => {
    const server = new EchoServer();
    await server.listen();
    t.after(() => server.close());
    const bystander = new EchoClient(server.path);
    for (let from = 0; from < sockets; from += 20) {
      const batch = Array.from({ length: Math.min(20, sockets - from) }, (_, at) =>
        attack(server.path, FIRST_SEED + from + at),
      );
      const answer = await bystander.unary(Buffer.from('still there?'));
      assert.equal(answer.toString(), 'still there?');
      await Promise.all(batch);
    }
    bystander.close();
    await eventually('all sessions and borders are gone', () => server.sessions === 0 && server.borders.size === 0);
    assert.equal(server.connections, 0);
    for (const { message } of server.ends) assert.doesNotMatch(message, /the border failed/);
  });
});
