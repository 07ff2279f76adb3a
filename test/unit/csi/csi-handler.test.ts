import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { CsiHandler } from '../../../src/csi/csi-handler.js';
import { NodeInfoPublisher } from '../../../src/csi/node-info-publisher.js';
import { silentLog } from '../../support/silence.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { Accepted } from '../../../src/model/plugin.js';
import { GRPC_STATUS, Refused } from '../../../src/model/reasons.js';
import { FakeClock } from '../../support/fake-clock.js';
import { leftIn } from '../../support/left-in-signal.js';
import { answers, enrolment, FakeDriver, FakeHandle, FakeTarget, failsWith } from './fakes.js';

const NAME = 'hostpath.csi.k8s.io';
const never = new AbortController().signal;

describe('the CSI handler', () => {
  let clock: FakeClock;
  let target: FakeTarget;
  let driver: FakeDriver;
  let publisher: NodeInfoPublisher;
  let handler: CsiHandler;

  beforeEach(() => {
    clock = new FakeClock();
    target = new FakeTarget();
    driver = new FakeDriver(clock);
    publisher = new NodeInfoPublisher({ target, clock, random: seededRandom(1), log: silentLog });
    handler = new CsiHandler({
      publisher,
      clock,
      random: seededRandom(2),
      nodeGetInfoMs: 15_000,
      openClient: (endpoint, listener) => driver.client(endpoint, listener),
    });
  });

  const publishedId = (): string | undefined => target.published.get(NAME)?.nodeId;

  async function register(
    id: string,
    handle = new FakeHandle(id),
  ): Promise<{ handle: FakeHandle; accepted: Accepted }> {
    const accepted = await handler.register(enrolment('CSIPlugin', NAME, ['1.0.0']), handle, never);
    await clock.advance(1);
    return { handle, accepted };
  }

  async function refusal(id: string): Promise<string> {
    const refused = register(id).then(
      () => 'taken',
      (thrown: unknown) => (thrown instanceof Refused ? thrown.refusal.code : String(thrown)),
    );
    await clock.advance(20_000);
    return refused;
  }

  it('tells the connection of a driver by which path its endpoint is found', async () => {
    await register('i1');
    handler.renamed('i1', '/r/b');
    handler.renamed('i2', '/r/c');
    assert.deepEqual(driver.renamedTo, ['/r/b']);
  });

  it('accepts 1.x and a good name, and says what is wrong with others', () => {
    assert.equal(handler.validate(NAME, ['0.2.0', 'v1.2.3']), undefined);
    assert.equal(
      handler.validate(NAME, ['0.3.0'])?.message,
      `CSI driver ${NAME}: offered versions ["0.3.0"] are not supported; supported versions are 1.x`,
    );
    assert.equal(handler.validate(NAME, ['0.3.0'])?.code, 'VERSION_UNSUPPORTED');
    for (const bad of ['', '../evil', 'a/b', 'x'.repeat(64), '-a', '__proto__']) {
      assert.equal(handler.validate(bad, ['1.0.0'])?.code, 'NAME_INVALID', bad);
    }
  });

  it('publishes what the driver says, and gives it to the checkpoint', async () => {
    driver.result = answers('n7', [['zone', 'a']], 5n);
    const { handle, accepted } = await register('i1');
    assert.deepEqual(accepted, {
      version: '1.0.0',
      facts: { nodeId: 'n7', count: 5, topology: [{ key: 'zone', value: 'a' }] },
    });
    assert.equal(publishedId(), 'n7');
    assert.equal(handle.served, 1);
    assert.deepEqual(handle.story, []);
  });

  it('publishes nothing and keeps no connection when the registration fails', async () => {
    driver.result = failsWith(GRPC_STATUS.INTERNAL, 'boom');
    assert.equal(await refusal('i1'), 'NODE_INFO_FAILED');
    driver.result = answers('');
    assert.equal(await refusal('i2'), 'NODE_ID_EMPTY');
    driver.result = answers('x'.repeat(300));
    assert.equal(await refusal('i3'), 'NODE_ID_TOO_LONG');
    driver.delayMs = 60_000;
    assert.equal(await refusal('i4'), 'NO_ANSWER');
    assert.equal(target.rounds, 0);
    assert.equal(driver.open, 0);
  });

  it('leaves nothing in the signal of a pending registration, whose attempts may all be in vain', async () => {
    const { signal } = new AbortController();
    driver.result = failsWith(GRPC_STATUS.UNIMPLEMENTED, 'no');
    for (let nth = 0; nth < 20; nth += 1) {
      const handle = new FakeHandle(`i${String(nth)}`);
      await assert.rejects(handler.register(enrolment('CSIPlugin', NAME, ['1.0.0']), handle, signal), Refused);
    }
    assert.equal(leftIn(signal), 0);
  });

  it('leaves the working registration alone when an upgrade fails', async () => {
    await register('old');
    driver.results.push(failsWith(GRPC_STATUS.UNIMPLEMENTED, 'not yet'));
    assert.equal(await refusal('new'), 'NOT_SERVED');
    assert.equal(publishedId(), 'node-1');
    assert.equal(driver.open, 1);
    assert.equal(await handler.isAlive('old', never), true);
  });

  it('replaces the same driver and version by another incarnation, whatever order the ends come in', async () => {
    await register('old');
    driver.result = answers('node-2');
    await register('new');
    assert.equal(publishedId(), 'node-2');
    await handler.deregister('old', 'socket-removed');
    await clock.settle();
    assert.equal(publishedId(), 'node-2');
    assert.equal(driver.open, 1);
  });

  it('falls back to the older incarnation when the newer one goes first', async () => {
    await register('old');
    driver.result = answers('node-2');
    await register('new');
    await handler.deregister('new', 'socket-removed');
    await clock.settle();
    assert.equal(publishedId(), 'node-1');
  });

  it('publishes the newer incarnation again when the fallback, asked once more, is let go of, which stays a fallback', async () => {
    await register('old');
    driver.result = answers('node-2');
    await register('new');
    await handler.deregister('old', 'replaced');
    driver.result = answers('node-3');
    await register('old');
    assert.equal(publishedId(), 'node-3');
    await clock.advance(5000); // rounds of the publisher have a pace
    await handler.deregister('old', 'replaced');
    await clock.settle();
    assert.equal(publishedId(), 'node-2');
    await handler.deregister('new', 'socket-removed');
    await clock.advance(5000);
    assert.equal(publishedId(), 'node-2', 'the fallback is asked now');
  });

  it('stays published while a replaced incarnation is left to ask, also when that one fails once, and not once it went, too', async () => {
    for (const end of ['answers', 'fails', 'goes'] as const) {
      await clock.advance(5000); // rounds of the publisher have a pace
      driver.result = answers('node-1');
      await register(`old ${end}`);
      driver.result = answers('node-2');
      await register(`new ${end}`);
      await handler.deregister(`old ${end}`, 'replaced');
      await handler.deregister(`new ${end}`, 'socket-removed');
      await clock.settle();
      assert.equal(publishedId(), 'node-2', `${end}: the fallback was not asked yet`);
      if (end === 'goes') await handler.deregister(`old ${end}`, 'replaced');
      if (end === 'fails') {
        driver.results.push(failsWith(GRPC_STATUS.UNIMPLEMENTED, 'no more'));
        assert.equal(await refusal(`old ${end}`), 'NOT_SERVED');
        assert.equal(publishedId(), 'node-2', 'it is asked again');
      }
      if (end !== 'goes') {
        driver.result = answers('node-3');
        await register(`old ${end}`);
        assert.equal(publishedId(), 'node-3');
        await handler.deregister(`old ${end}`, 'socket-removed');
      }
      await clock.settle();
      assert.equal(publishedId(), undefined, end);
      assert.equal(driver.open, 0, end);
    }
  });

  it('takes back what is published when the registration socket goes, and only then', async () => {
    for (const reason of ['quarantine', 'broker-stopping', 'replaced', 'connection-lost'] as const) {
      await register(`kept by ${reason}`);
      await handler.deregister(`kept by ${reason}`, reason);
      await clock.settle();
      assert.equal(publishedId(), 'node-1', reason);
    }
    await handler.deregister('kept by connection-lost', 'grace-over');
    await clock.settle();
    assert.equal(publishedId(), 'node-1', 'the replaced one is a fallback still');
    await handler.deregister('kept by replaced', 'replaced');
    await clock.settle();
    assert.equal(publishedId(), undefined);
    await register('again');
    await handler.deregister('again', 'socket-removed');
    await handler.deregister('again', 'socket-removed');
    await handler.deregister('never seen', 'socket-removed');
    await clock.settle();
    assert.equal(publishedId(), undefined);
    assert.equal(driver.open, 0);
  });

  it('is held while the service socket is away, leaves what is published, and is ready when it is back', async () => {
    const { handle } = await register('i1');
    driver.listener?.lost('connection closed');
    driver.listener?.lost('ECONNREFUSED');
    assert.deepEqual(handle.story, ['held service-lost']);
    assert.equal(publishedId(), 'node-1');
    assert.equal(await handler.isAlive('i1', never), false);
    driver.listener?.up();
    await clock.settle();
    assert.deepEqual(handle.story, ['held service-lost', 'ready registered']);
    assert.equal(target.rounds, 1);
  });

  it('publishes and reports what an upgraded driver says when it comes back on its service socket', async () => {
    const { handle } = await register('i1');
    driver.listener?.lost('gone');
    driver.result = answers('node-9');
    driver.listener?.up();
    await clock.settle();
    assert.equal(publishedId(), 'node-9');
    assert.deepEqual(handle.reports.at(-1)?.facts, { nodeId: 'node-9', count: undefined, topology: [] });
  });

  it('stays held while a driver that came back answers nonsense, and asks it again', async () => {
    const { handle } = await register('i1');
    driver.listener?.lost('gone');
    driver.results.push(answers(''), answers(''));
    driver.listener?.up();
    await clock.advance(60_000);
    assert.deepEqual(handle.story, ['held service-lost', 'held NODE_ID_EMPTY', 'ready registered']);
    assert.equal(publishedId(), 'node-1');
    assert.equal(clock.pending, 0);
  });

  it('says that publishing is delayed, and when it is not any more', async () => {
    target.failures.push({ ok: false, message: 'no route to the API server' });
    const { handle } = await register('i1');
    assert.deepEqual(handle.story, ['ready publish-pending']);
    assert.match(handle.reports[0]?.message ?? '', /not published yet: no route to the API server$/);
    await clock.advance(60_000);
    assert.deepEqual(handle.story, ['ready publish-pending', 'ready registered']);
  });

  it('says that publishing is refused, in the words of the target', async () => {
    target.conflicts.set(NAME, 'node label zone is x');
    const { handle } = await register('i1');
    assert.deepEqual(handle.story, ['ready publish-refused']);
  });

  it('tells a connection lost during the registration only after it', async () => {
    const handle = new FakeHandle('i1');
    const registering = handler.register(enrolment('CSIPlugin', NAME, ['1.0.0']), handle, never);
    driver.listener?.lost('gone again');
    await registering;
    await clock.settle();
    assert.deepEqual([handle.story, handle.served], [[], 0]);
    await clock.advance(1);
    assert.equal(handle.served, 1);
    assert.deepEqual(handle.story, ['held service-lost']);
  });

  it('serves from the checkpoint what an earlier life published, and takes back the rest after settling', async () => {
    const { accepted } = await register('first life');
    target.published.set('gone.csi.example.com', { driver: 'gone.csi.example.com', nodeId: 'x', topology: [] });
    await handler.stop();
    publisher = new NodeInfoPublisher({ target, clock, random: seededRandom(1), log: silentLog });
    handler = new CsiHandler({
      publisher,
      clock,
      random: seededRandom(2),
      nodeGetInfoMs: 15_000,
      openClient: driver.client,
    });
    handler.restore(NAME, accepted, new FakeHandle('i1'));
    handler.restore('damaged.example.com', { version: '1.0.0', facts: {} }, new FakeHandle('i2'));
    publisher.settle();
    await clock.advance(60_000);
    assert.deepEqual([...target.published.keys()], [NAME]);
    await handler.deregister('i1', 'socket-removed');
    await clock.settle();
    assert.equal(target.published.size, 0);
  });

  it('replaces what came from the checkpoint by the confirmed registration of the same instance', async () => {
    handler.restore(NAME, { version: '1.0.0', facts: { nodeId: 'old', topology: [] } }, new FakeHandle('i1'));
    await register('i1');
    assert.equal(publishedId(), 'node-1');
    assert.equal(await handler.isAlive('i1', never), true);
  });

  it('lets nothing run on after stop', async () => {
    const { handle } = await register('i1');
    driver.listener?.lost('gone');
    await handler.stop();
    driver.listener?.up();
    await clock.advance(600_000);
    assert.equal(clock.pending, 0);
    assert.deepEqual(handle.story, ['held service-lost']);
    assert.equal(publishedId(), 'node-1');
  });
});
