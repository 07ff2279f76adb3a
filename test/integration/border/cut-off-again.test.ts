import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { ATTACKS } from '../../support/http2/attacks.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('a process that is cut off again and again', () => {
  void it('has to wait before each further connection of it is read, and is cut off there, too', async (t) => {
    const broker = new BrokerProcess(tempDir());
    t.after(() => broker.close());
    await broker.start();
    const attack = ATTACKS.find(({ code }) => code === 'PING_FLOOD')!;
    const lasted = async (): Promise<number> => {
      const began = performance.now();
      const peer = await attack.run(broker.kubeletSocket);
      peer.socket.resume();
      await peer.closed();
      return performance.now() - began;
    };
    for (let nth = 0; nth < 4; nth++) await lasted();
    assert.match(broker.log, /PING_FLOOD/);
    // Four at once: the turns are a tenth of a second apart, so the last one cannot be cut off before four of them.
    const waited = await Promise.all([lasted(), lasted(), lasted(), lasted()]);
    waited.sort((one, other) => one - other);
    for (const [nth, ms] of waited.entries())
      assert.ok(ms >= 99 * (nth + 1), `${String(ms)} ms for number ${String(nth)}`);
  });
});
