import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AdminService } from '../../../src/admin/admin-service.js';
import { FrontNews } from '../../../src/front/front-news.js';
import type { BrokerEvent } from '../../../src/model/event.js';
import { OVER_HTTP } from '../../../src/page/over-http.js';
import { Picture } from '../../../src/page/picture.js';
import { brokerEvent, FakeAdminPort, pluginView } from '../../support/fake-admin-port.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakePageSource } from '../../support/page-source.js';
import { silentLog } from '../../support/silence.js';

const LEASE: Partial<BrokerEvent> = {
  type: 'released',
  reason: '',
  socket: '',
  message: 'lease 01k of secret/name (uid 7) was released: g0 of example.com/gpu',
  facts: { lease: '01k', kind: 'key', resource: 'example.com/gpu', devices: 1 },
};

/** The explanation of a plugin over HTTP. */
async function explained(port: FakeAdminPort): Promise<{ readonly why: string; readonly all: string }> {
  const given = await new AdminService(port).explain('example.com/gpu', '', OVER_HTTP);
  return { why: given.ok ? given.value.why : given.problem.message, all: JSON.stringify(given) };
}

describe('an explanation over HTTP', () => {
  it('has leases and pods that hold devices, and no names of theirs', async () => {
    const port = new FakeAdminPort();
    port.pluginList = [pluginView()];
    port.eventList = [brokerEvent(LEASE)];
    port.taken
      .set('g0', { lease: '01k', owner: 'secret/name', kind: 'key', uid: 4001 })
      .set('g1', { lease: '', owner: 'secret/pod/c', kind: 'pod', uid: undefined })
      .set('g2', { lease: '', owner: 'secret/pod/c', kind: 'pod', uid: undefined })
      .set('g3', { lease: '', owner: 'secret/other/c', kind: 'pod', uid: undefined });
    const { why, all } = await explained(port);
    assert.match(why, /lease 01k bound to a key has g0, a pod has g1 g2, a pod has g3\./);
    assert.doesNotMatch(all, /secret/);
  });

  it('names no pods of an event, either', async () => {
    const { journal } = new FakePageSource(new FakeClock());
    await journal.open(0);
    new FrontNews(journal, silentLog).usedTwice('example.com/gpu', 'g0 is in use by secret/a and secret/b');
    const [told] = journal.recent().map(OVER_HTTP.event);
    assert.equal(told?.message, 'a device of example.com/gpu is in use by 2 pods; `plugin-broker events` names them');
  });

  it('of a plugin that is known by its events alone has no names either', async () => {
    const port = new FakeAdminPort();
    port.eventList = [brokerEvent(LEASE)];
    const { why, all } = await explained(port);
    assert.equal(why, 'lease 01k bound to a key: released, 1 of example.com/gpu.');
    assert.doesNotMatch(all, /secret/);
  });

  it('is what a need of the page says of a plugin that has no events left but those of its leases', async () => {
    const clock = new FakeClock();
    const source = new FakePageSource(clock);
    await source.journal.open(0);
    const { plugin, message, facts } = brokerEvent(LEASE);
    source.journal.record({ type: 'released', plugin, uid: undefined, message, facts: facts ?? {} });
    const at = new Date(clock.wall()).toISOString();
    const refusal = { plugin, socket: '', reason: 'ENDPOINT_MISSING', message: '', refusals: 9, since: at, last: at };
    source.headList = { ...source.headList, refused: [refusal] };
    let told = '';
    const picture = new Picture({ source, clock, rest: () => undefined });
    await picture.whole((snapshot) => (told = Buffer.concat(snapshot).toString()), 0);
    const { needs } = JSON.parse(told) as { needs: { what: string }[] };
    assert.deepEqual(
      needs.map(({ what }) => what),
      ['lease 01k bound to a key: released, 1 of example.com/gpu.'],
    );
    assert.doesNotMatch(told, /secret/);
  });
});
