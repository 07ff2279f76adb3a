import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askNodeInfo } from '../../../src/csi/ask-node-info.js';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import { seededRandom } from '../../support/seeded-random.js';
import { GRPC_STATUS, Refused } from '../../../src/model/reasons.js';
import { FakeClock } from '../../support/fake-clock.js';
import { answers, FakeDriver, failsWith, pin } from './fakes.js';

const BUDGET_MS = 15_000;

/** Asks, lets time pass, and gives the answer, or the refusal as `CODE sentence`. */
async function ask(
  prepare: (driver: FakeDriver) => void,
): Promise<{ outcome: NodeInfo | string; driver: FakeDriver; clock: FakeClock }> {
  const clock = new FakeClock();
  const driver = new FakeDriver(clock);
  prepare(driver);
  const client = driver.client(pin('/csi.sock'), { up: () => undefined, lost: () => undefined });
  const asked = askNodeInfo(
    'd',
    client,
    BUDGET_MS,
    { clock, random: seededRandom(3) },
    new AbortController().signal,
  ).catch((thrown: unknown) => {
    if (thrown instanceof Refused) return `${thrown.refusal.code} ${thrown.message}`;
    throw thrown;
  });
  await clock.advance(60_000);
  return { outcome: await asked, driver, clock };
}

function said(outcome: NodeInfo | string): string {
  return typeof outcome === 'string' ? outcome : assert.fail('it was taken');
}

describe('asking a driver for its node info', () => {
  it('takes the answer of the first call', async () => {
    const { outcome, driver } = await ask((it) => (it.result = answers('n')));
    assert.deepEqual(outcome, { driver: 'd', nodeId: 'n', topology: [] });
    assert.equal(driver.calls, 1);
  });

  it('asks again while the driver is not up yet', async () => {
    const { outcome, driver } = await ask((it) => {
      it.results.push(...Array.from({ length: 4 }, () => failsWith(GRPC_STATUS.UNAVAILABLE, 'connect ECONNREFUSED')));
    });
    assert.deepEqual(outcome, { driver: 'd', nodeId: 'node-1', topology: [] });
    assert.equal(driver.calls, 5);
  });

  it('gives up within its budget, with the last failure as reason', async () => {
    const { outcome, driver } = await ask((it) => (it.result = failsWith(GRPC_STATUS.INTERNAL, 'no cloud')));
    assert.match(
      said(outcome),
      /^NODE_INFO_FAILED CSI driver d: NodeGetInfo failed with INTERNAL: no cloud, \d+ tries$/,
    );
    assert.ok(driver.calls > 5 && driver.calls < 100, `${String(driver.calls)} calls`);
  });

  it('spends its whole budget on a driver that hangs', async () => {
    const { outcome, driver } = await ask((it) => (it.delayMs = 3_600_000));
    assert.equal(outcome, 'NO_ANSWER CSI driver d: NodeGetInfo was not answered within 15000 ms');
    assert.equal(driver.calls, 1);
  });

  it('says how a driver failed whose last call the end of the budget cut off', async () => {
    const { outcome, driver } = await ask((it) => {
      it.results.push(failsWith(GRPC_STATUS.INTERNAL, 'no cloud'));
      it.result = failsWith(GRPC_STATUS.DEADLINE_EXCEEDED, 'no answer', 'no-answer');
    });
    assert.match(
      said(outcome),
      /^NODE_INFO_FAILED CSI driver d: NodeGetInfo failed with INTERNAL: no cloud, \d+ tries$/,
    );
    assert.ok(driver.calls > 1);
  });

  it('says that nobody listens when nobody did in the end', async () => {
    const { outcome } = await ask(
      (it) => (it.result = failsWith(GRPC_STATUS.UNAVAILABLE, 'Last error: connect ECONNREFUSED', 'no-listener')),
    );
    assert.match(
      said(outcome),
      /^NO_LISTENER CSI driver d: NodeGetInfo failed: nobody listens on the endpoint, \d+ tries$/,
    );
  });

  it('says who would have to run as whom where permissions kept the broker out', async () => {
    const sentence = 'the broker runs as uid 7 and may not connect to /csi.sock (EACCES); run the broker as root';
    const { outcome } = await ask((it) => (it.result = failsWith(GRPC_STATUS.UNAVAILABLE, sentence, 'not-permitted')));
    assert.equal(outcome, `NOT_PERMITTED CSI driver d: NodeGetInfo failed: ${sentence}`);
  });

  it('believes its own transport, not the words of the driver', async () => {
    const { outcome } = await ask((it) => (it.result = failsWith(GRPC_STATUS.UNKNOWN, 'ENOENT: nghttp2')));
    assert.match(said(outcome), /^NODE_INFO_FAILED /);
  });

  it('says that it is not gRPC when something else listens', async () => {
    const { outcome } = await ask(
      (it) => (it.result = failsWith(GRPC_STATUS.UNAVAILABLE, 'Protocol error', 'not-grpc')),
    );
    assert.match(said(outcome), /^NOT_GRPC /);
  });

  it('does not ask again when the answer would be the same', async () => {
    const { outcome, driver } = await ask(
      (it) => (it.result = failsWith(GRPC_STATUS.UNIMPLEMENTED, 'unknown service csi.v1.Node')),
    );
    assert.equal(
      outcome,
      'NOT_SERVED CSI driver d: NodeGetInfo is not served on the endpoint: unknown service csi.v1.Node',
    );
    assert.equal(driver.calls, 1);
  });

  it('refuses a bad answer at once', async () => {
    const { outcome, driver, clock } = await ask((it) => (it.result = answers('')));
    assert.equal(outcome, 'NODE_ID_EMPTY CSI driver d: NodeGetInfo answered an empty node id');
    assert.equal(driver.calls, 1);
    assert.equal(clock.pending, 0);
  });

  it('stops when it is told to', async () => {
    const clock = new FakeClock();
    const driver = new FakeDriver(clock);
    driver.result = failsWith(GRPC_STATUS.UNAVAILABLE, 'no');
    const client = driver.client(pin('/csi.sock'), { up: () => undefined, lost: () => undefined });
    const halt = new AbortController();
    const asked = askNodeInfo('d', client, BUDGET_MS, { clock, random: { next: () => 0.9 } }, halt.signal);
    const outcome = assert.rejects(asked, /told to/);
    await clock.settle();
    halt.abort(new Error('told to'));
    await outcome;
    assert.equal(clock.pending, 0);
  });
});
