import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FRAME } from '../../../src/platform/http2/frames.js';
import { eventually } from '../../support/eventually.js';
import { ATTACKS } from '../../support/http2/attacks.js';
import { EchoClient } from '../../support/http2/echo-client.js';
import { EchoServer } from '../../support/http2/echo-server.js';

void describe('the guard', () => {
  for (const { name, code, guard, run } of ATTACKS) {
    void it(`ends ${name} with ${code}, and a bystander's calls are answered meanwhile`, async (t) => {
      const server = new EchoServer({ guard: guard ?? {} });
      await server.listen();
      t.after(() => server.close());
      const bystander = new EchoClient(server.path);
      assert.equal((await bystander.unary(Buffer.from('before'))).toString(), 'before');

      const attacking = run(server.path);
      assert.equal((await bystander.unary(Buffer.from('during'))).toString(), 'during');
      const attacker = await attacking;
      const end = await eventually('the attacker is cut off', () => server.ends[0]);
      assert.equal(end.code, code, end.message);
      attacker.socket.resume();
      await attacker.closed();

      assert.equal((await bystander.unary(Buffer.from('after'))).toString(), 'after');
      bystander.close();
      await eventually('nothing of it is left', () => server.sessions === 0 && server.connections === 0);
      await eventually('no border is left', () => server.borders.size === 0);
      assert.deepEqual(
        server.ends.filter((other) => other.code !== code),
        [],
      );
    });
  }

  void it('tells the peer why, in a GOAWAY that its library logs', async (t) => {
    const server = new EchoServer();
    await server.listen();
    t.after(() => server.close());
    const attack = ATTACKS.find(({ code }) => code === 'PING_FLOOD');
    const peer = await attack!.run(server.path);
    await peer.closed();
    const last = peer.frames.findLast(({ type }) => type === FRAME.GOAWAY);
    assert.match(last?.payload.toString('utf8', 8) ?? '', /^PING_FLOOD: the peer sent 101 PING frames within 10 s/);
  });
});
