// Of leases nobody hears names, keys or environments over HTTP: every address is read while a lease is held, and after its plugin
// was forgotten.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AllocClient } from '../../support/alloc-client.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import type { FakePlugin } from '../../support/fake-plugin.js';
import { httpOf } from '../../support/scrape.js';
import { servedPlugin } from '../../support/served-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const GPU = 'vendor.com/gpu';
const OWNER = { namespace: 'secret-namespace', name: 'secret-name', part: 'secret-part' };

describe('leases over HTTP', () => {
  const broker = new BrokerProcess(tempDir(), {
    http: { listen: '127.0.0.1:0' },
    cdi: { dir: 'off' },
  });
  /** Every answer of the broker. */
  const bodies: string[] = [];
  let url = '';
  let plugin: FakePlugin;
  let client: AllocClient;

  before(async () => {
    await broker.start();
    url = await httpOf(broker);
    const allocate = () => ({ envs: new Map([['TOKEN', 'secret-environment']]) });
    plugin = await servedPlugin(broker, { resource: GPU, allocate });
    client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  });
  after(async () => {
    client.close();
    await plugin.stop();
    await broker.close();
  });

  async function get(to: string): Promise<string> {
    const body = await (await fetch(`${url}${to}`)).text();
    bodies.push(body);
    return body;
  }

  /** The beginning of a stream, with events of the past, until that is in it. */
  async function stream(awaited: string): Promise<void> {
    const halt = new AbortController();
    const reader = (await fetch(`${url}api/v1/stream?since=0`, { signal: halt.signal })).body?.getReader();
    const decoder = new TextDecoder();
    let text = '';
    while (!text.includes(awaited)) {
      const read = await reader?.read();
      assert.notEqual(read?.done, true, text);
      text += decoder.decode(read?.value as Uint8Array, { stream: true });
    }
    halt.abort();
    bodies.push(text);
  }

  /** Reads everything; what tells of a lease, until it has its id. */
  async function readAll(id: string): Promise<void> {
    for (const to of [`events?plugin=${GPU}`, `explain?subject=${GPU}`, 'events']) {
      await eventually(`${to} has the lease`, async () => (await get(`api/v1/${to}`)).includes(id), { everyMs: 50 });
    }
    const others = ['status', `resources/${GPU}`, `explain?subject=${plugin.socket}`].map((to) => `api/v1/${to}`);
    for (const to of ['', 'metrics', 'healthz', 'readyz', ...others]) await get(to);
    await stream(`lease ${id}`);
    for (const body of bodies) assert.doesNotMatch(body, /secret/);
  }

  it('have their ids and the kinds of their owners, and no names, keys or environments', async () => {
    const { id } = await client.one(GPU, { key: 'secret-key', owner: OWNER });
    await readAll(id);
    const { why } = JSON.parse(await get(`api/v1/explain?subject=${GPU}`)) as { why: string };
    assert.match(why, new RegExp(`lease ${id} bound to a key has [\\w-]+\\.`));
    const told = await broker.admin.explain(GPU, '');
    assert.match(told.why, /secret-namespace\/secret-name\/secret-part/, 'operators are told');
  });

  it('have no names either where their events are all that is left of a plugin', async () => {
    await plugin.stop();
    await eventually('it is held', async () => (await broker.plugins())[0]?.state === 'held');
    await broker.admin.forget({ name: GPU, type: '', force: true });
    const [lease] = await client.list();
    await client.release({ key: 'secret-key' });
    await readAll(lease?.id ?? '');
    const { why } = JSON.parse(await get(`api/v1/explain?subject=${GPU}`)) as { why: string };
    assert.match(why, new RegExp(`^lease ${lease?.id ?? ''} bound to a key: released, `));
  });
});
