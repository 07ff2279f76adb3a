import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AllocateLimit } from '../../../src/flood/allocate-limit.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FLOOD } from '../../support/flood-world.js';
import { modelLimiters } from '../../support/model-limiter.js';
import { countedFloods, RecordedEvents } from '../../support/recorders.js';

function bed() {
  const clock = new FakeClock();
  const events = new RecordedEvents();
  const { metrics, counts } = countedFloods();
  const limit = new AllocateLimit(FLOOD, { openLimiter: modelLimiters(clock), metrics, events, userOf: (uid) => uid });
  const spend = (uid: number): number => {
    let given = 0;
    while (given < 1000 && limit.ask(uid) === undefined) given += 1;
    return given;
  };
  return { clock, events, counts, limit, spend };
}

describe('the limit on requests for devices', () => {
  it('is a bucket for each uid, refused with the time until the next permit', async () => {
    const { clock, limit, spend } = bed();
    assert.equal(spend(7), 20);
    assert.equal(limit.ask(7), 50);
    assert.equal(spend(8), 20);
    await clock.advance(100);
    assert.equal(spend(7), 2);
  });

  it('shows the caller that asked too often, and forgets nothing of it by a reload, which holds from then on', async () => {
    const { clock, limit, spend } = bed();
    assert.deepEqual(limit.views(), []);
    spend(7);
    assert.deepEqual(
      limit
        .views()
        .map(({ limit: name, uid, permits, burst, exceeded, slowing }) => [
          name,
          uid,
          permits,
          burst,
          exceeded,
          slowing,
        ]),
      [['allocate', 7, 0, 20, 1, 'reject']],
    );
    limit.reload({ ...FLOOD, allocate: { burst: 3, intervalMs: 1000 } });
    assert.equal(spend(7), 0);
    await clock.advance(10_000);
    assert.equal(spend(7), 3);
    assert.equal(limit.views()[0]?.exceeded, 3);
  });

  it('only counts and reports in observe mode', () => {
    const { events, counts, limit, spend } = bed();
    limit.reload({ ...FLOOD, mode: 'observe' });
    assert.equal(spend(7), 1000);
    assert.equal(limit.views()[0]?.slowing, 'observe');
    assert.match(events.all.at(-1)?.message ?? '', /uid 7 asks for devices .* if flood.mode were enforce/);
    assert.equal(counts.get('allocate observe'), 980);
  });

  it('counts uids beyond a thousand together', () => {
    const { limit, spend } = bed();
    for (let uid = 0; uid < 1024; uid += 1) limit.ask(uid);
    assert.equal(spend(5000), 20);
    assert.equal(spend(5001), 0);
    assert.equal(limit.views().find(({ uid }) => uid === -1)?.permits, 0);
    limit.close();
  });
});
