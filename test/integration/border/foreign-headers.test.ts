import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { literal } from '../../support/http2/hpack-writer.js';
import { RawPeer, request, requestBlock } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';
import { usedBytes } from '../../support/used-memory.js';

const REGISTER = requestBlock('localhost', '/v1beta1.Registration/Register');
const CALLS = 40;
/** A header block may have 16 KiB, and each open call keeps it. */
const MB_OF_A_CALL = 0.1;

void describe('headers that nobody reads', () => {
  void it('of commas cost a call no more than their bytes', async (t) => {
    const broker = await startTestBroker(tempDir());
    t.after(() => broker.stop());
    const peer = await RawPeer.greeted(broker.kubeletSocket);
    t.after(() => peer.destroy());
    const commas = Buffer.concat([REGISTER, literal('x-bin', ','.repeat(15_800))]);
    const before = usedBytes();
    for (let nth = 0; nth < CALLS; nth++) {
      peer.write(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 2 * nth + 1, commas));
    }
    // Its answer shows that those before it were read.
    peer.write(request(2 * CALLS + 1, REGISTER));
    await peer.answer(2 * CALLS + 1);
    const heldMb = (usedBytes() - before) / 1e6;
    assert.ok(heldMb < CALLS * MB_OF_A_CALL, `${String(heldMb)} MB are held for ${String(CALLS)} calls`);
  });

  void it('and those that are read stay out of the log as they are', async (t) => {
    const broker = new BrokerProcess(tempDir());
    t.after(() => broker.close());
    await broker.start();
    const peer = await RawPeer.greeted(broker.kubeletSocket);
    t.after(() => peer.destroy());
    const raw = 'forged\t\xe9';
    const fields = [
      literal('x', raw),
      literal('grpc-timeout', raw),
      literal('content-type', `application/grpc+${raw}`),
    ];
    for (const [nth, field] of fields.entries()) {
      peer.write(request(2 * nth + 1, Buffer.concat([REGISTER, field])));
      await peer.answer(2 * nth + 1);
    }
    const driver = await RawPeer.greeted(path.join(broker.root, 'broker.sock'));
    t.after(() => driver.destroy());
    driver.write(request(1, Buffer.concat([requestBlock('localhost', '/grpc.health.v1.Health/Check'), fields[0]!])));
    await driver.answer(1);
    await broker.end('SIGTERM');
    assert.doesNotMatch(broker.log, /forged/);
    for (const line of broker.log.trim().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line);
  });
});
