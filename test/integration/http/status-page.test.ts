// The status page's side of the broker on real sockets: its answers, its refusals, and the streams that give way.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { PageSnapshot } from '../../../src/model/page-views.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { PageServer } from '../../support/page-server.js';
import { tempDir } from '../../support/temp-dir.js';

const RESOURCE = 'example.com/gpu';

interface Got {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

void describe('the status page behind http.listen', () => {
  const broker = new BrokerProcess(tempDir(), { http: { listen: '127.0.0.1:0' } });
  let plugin: FakePlugin;
  let port = 0;

  before(async () => {
    await broker.start();
    port = await eventually('it listens', () => {
      const [, digits] = /"address":"127\.0\.0\.1:(\d+)"/.exec(broker.log) ?? [];
      return digits === undefined ? undefined : Number(digits);
    });
    plugin = await FakePlugin.start({ socket: path.join(broker.devicePlugins, 'gpu.sock'), resource: RESOURCE });
    await plugin.register(broker.kubeletSocket);
    await eventually('it is there', async () => (await broker.allocatable(RESOURCE)) === 2);
  });
  after(async () => {
    await plugin.stop();
    await broker.close();
  });

  async function get(to: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
    const sent = request({ port, host: '127.0.0.1', path: to, method, agent: false, headers });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(response, 'end');
    const bytes = Buffer.concat(chunks);
    const body = (response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
    return { status: response.statusCode ?? 0, body, headers: response.headers };
  }

  /** A stream and its messages so far. */
  async function follow(query = '', headers: Record<string, string> = {}) {
    const sent = request({ port, host: '127.0.0.1', path: `/api/v1/stream${query}`, agent: false, headers });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const stream = { status: response.statusCode, text: '', isOver: false, response, close: () => sent.destroy() };
    response.on('data', (chunk: Buffer) => (stream.text += chunk.toString()));
    response.on('error', () => undefined);
    sent.on('error', () => undefined);
    response.once('close', () => (stream.isOver = true));
    return stream;
  }

  void it('gives the answers of the commands, packed for clients that can read that, and says when nothing is new', async () => {
    const plain = await get('/api/v1/status');
    const packed = await get('/api/v1/status', { 'accept-encoding': 'gzip' });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    const shown = JSON.parse(packed.body) as PageSnapshot;
    assert.deepEqual(
      shown.plugins.map(({ name, state }) => [name, state]),
      [[RESOURCE, 'ready']],
    );
    assert.deepEqual([shown.resources[0]?.capacity, shown.resources[0]?.allocatable], [2, 2]);
    assert.doesNotMatch(plain.body, /"devices":\[\{"id"/);
    const status = await broker.status();
    assert.deepEqual(shown.broker, status.broker);
    assert.equal(shown.history.spans[`DevicePlugin/${RESOURCE}`]?.spans.at(-1)?.[1], 'ready');
    assert.deepEqual(shown.history.capacity[RESOURCE]?.at(-1)?.slice(1), [2, 2]);
    assert.equal(shown.history.starts[0]?.after, 'first');
    const again = await get('/api/v1/status', { 'if-none-match': String(packed.headers.etag) });
    assert.deepEqual([again.status, again.body], [304, '']);
  });

  void it('has devices by pages, events, explanations and reasons; and one sentence for a question that makes no sense', async () => {
    const devices = JSON.parse((await get(`/api/v1/resources/${RESOURCE}?limit=1`)).body) as {
      total: number;
      devices: object[];
    };
    assert.deepEqual([devices.total, devices.devices.length], [2, 1]);
    assert.ok(!('owner' in (devices.devices[0] ?? {})));
    assert.equal((await get(`/api/v1/resources/${encodeURIComponent(RESOURCE)}`)).status, 200);
    assert.match((await get('/api/v1/events?limit=3')).body, /"seq":/);
    assert.match((await get(`/api/v1/events?plugin=${RESOURCE}&since=1`)).body, /first list/);
    assert.match((await get(`/api/v1/explain?subject=${RESOURCE}`)).body, /"state":"ready"/);
    assert.match((await get('/api/v1/reason?code=QUARANTINED')).body, /pardon/);
    for (const [to, status] of [
      ['/api/v1/resources/none', 404],
      ['/api/v1/resources/%E0%A4%A', 400],
      ['/api/v1/events?since=x', 400],
      ['/api/v1/explain', 400],
      ['/api/v1/explain?subject=nobody', 404],
      ['/api/v1/reason?code=%3Cscript%3E', 400],
      ['/api/v1/none', 404],
    ] as const) {
      const { status: got, body } = await get(to);
      assert.equal(got, status, to);
      assert.match(body, /^[^\n]{10,}\n$/, to);
    }
  });

  void it('answers many requests of one moment one after the other, with others in between', async () => {
    const page = await PageServer.start();
    const { source } = page;
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    const asked: number[] = [];
    source.explain = () => {
      asked.push(turns);
      return Promise.resolve({ ok: false, problem: { code: 'NOT_FOUND', message: 'nobody' } });
    };
    count();
    const ask = async (): Promise<number> => (await fetch(`${page.url}api/v1/explain?subject=nobody`)).status;
    const answers = await Promise.all(Array.from({ length: 30 }, ask));
    isOver = true;
    page.close();
    assert.deepEqual(answers, Array<number>(30).fill(404));
    assert.equal(new Set(asked).size, 30, 'two in one turn of the loop');
  });

  void it('serves the page under a policy that trusts nobody, and its files for ever', async () => {
    const page = await get('/');
    assert.match(
      String(page.headers['content-security-policy']),
      /default-src 'none'.*require-trusted-types-for 'script'/,
    );
    assert.deepEqual(
      [page.headers['cache-control'], page.headers['x-content-type-options'], page.headers['referrer-policy']],
      ['no-store', 'nosniff', 'no-referrer'],
    );
    assert.equal(page.headers['access-control-allow-origin'], undefined);
    assert.doesNotMatch(page.body, /<script(?![^>]* src=)|<style|\son\w+=|https?:/);
    let size = page.body.length;
    for (const [, name] of page.body.matchAll(/(?:src|href)="(page-[^"]+)"/g)) {
      const file = await get(`/${String(name)}`);
      assert.equal(file.status, 200);
      assert.match(String(file.headers['cache-control']), /immutable/);
      size += file.body.length;
    }
    assert.ok(size <= 40 * 1024, `${String(size)} bytes`);
  });

  void it('tells nothing to other names, to pages of other sites, and to requests for changes', async () => {
    for (const to of ['/', '/metrics', '/api/v1/status', '/api/v1/stream', '/none']) {
      const rebound = await get(to, { host: 'evil.example' });
      assert.equal(rebound.status, 421, to);
      const foreign = await get(to, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' });
      assert.equal(foreign.status, 403, to);
      for (const { body } of [rebound, foreign]) assert.match(body, /^[^\n]{10,}\n$/);
    }
    assert.equal((await get('/api/v1/status', { 'sec-fetch-site': 'same-site' })).status, 403);
    assert.equal((await get('/api/v1/status', { 'sec-fetch-site': 'same-origin' })).status, 200);
    // A link in a wiki leads to the page, and to nothing else.
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    assert.deepEqual([(await get('/', link)).status, (await get('/api/v1/status', link)).status], [200, 403]);
    assert.equal((await get('/', { ...link, 'sec-fetch-dest': 'iframe' })).status, 403);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const { status, body, headers } = await get('/api/v1/status', {}, method);
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], method);
      assert.match(body, /^only GET and HEAD/);
    }
    for (const to of ['/healthz', '/readyz']) assert.equal((await get(to, { host: 'evil.example' })).status, 200);
  });

  void it('answers what is too long with a sentence', async () => {
    assert.equal((await get(`/api/v1/events?since=${'1'.repeat(3000)}`)).status, 414);
    const huge = await get(`/api/v1/events?since=${'1'.repeat(20_000)}`);
    assert.equal(huge.status, 431);
    assert.match(huge.body, /8192 bytes/);
  });

  void it('streams what changes to sixteen, sends the next away while all are young, and goes on where one was cut off', async () => {
    const streams: Awaited<ReturnType<typeof follow>>[] = [];
    for (let nth = 0; nth < 16; nth += 1) streams.push(await follow());
    const next = await eventually('all came a moment ago', async () => {
      const refused = await get('/api/v1/stream', {}, 'HEAD');
      if (refused.status === 503) return refused;
      streams.push(await follow());
      return undefined;
    });
    assert.equal(next.headers['retry-after'], '5');
    await eventually('sixteen are left', () => {
      streams.splice(0, streams.length, ...streams.filter(({ status, isOver }) => status === 200 && !isOver));
      return streams.length === 16;
    });
    for (const stream of streams) {
      await eventually('it has the picture', () => stream.text.includes('event: snapshot'));
      assert.equal(stream.response.headers['content-type'], 'text/event-stream; charset=utf-8');
    }
    plugin.setDevices([{ id: 'a', health: 'Healthy' }]);
    for (const stream of streams) {
      await eventually('it hears of the change', () => /event: change\ndata: \{.*"capacity":1/.test(stream.text));
      await eventually('and of the event', () => /event: event\ndata: \{.*"type":"devices"/.test(stream.text));
    }
    const seq = /id: (\d+)\n(?!.*\nid: )/s.exec(streams[0]?.text ?? '')?.[1] ?? '';
    for (const stream of streams) stream.close();
    await eventually('there is room', async () => (await get('/api/v1/stream', {}, 'HEAD')).status === 200);
    plugin.setDevices([
      { id: 'a', health: 'Healthy' },
      { id: 'b', health: 'Unhealthy' },
    ]);
    await eventually('the list is taken', async () => (await broker.counts()).get(RESOURCE)?.capacity === 2);
    const back = await follow('', { 'last-event-id': seq });
    await eventually('it hears what it missed', () => /event: event\ndata: \{.*1 of 2 devices/.test(back.text));
    back.close();
  });

  void it('answers probes while thousands hold connections, send half a request or read nothing', async () => {
    const sockets: Socket[] = [];
    const open = (say: string): void => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.once('connect', () => socket.write(say));
      socket.pause();
      sockets.push(socket);
    };
    const says = ['', 'GET / HTTP/1.1\r\nHost: loc', 'GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n'];
    for (let nth = 0; nth < 1000; nth += 1) {
      // Few of them ask: a process that asks too much waits for its turn, and so would we.
      open(says[nth % 20 === 0 ? 2 : nth % 2] ?? '');
      if (nth % 100 === 99) assert.equal((await get('/healthz')).status, 200, String(nth));
    }
    assert.equal((await get('/readyz')).status, 200);
    for (const socket of sockets) socket.destroy();
    await eventually('pages are answered again', async () => (await get('/api/v1/reason?code=BUSY')).status === 200);
  });

  void it('ends its streams with a goodbye when the broker stops', async () => {
    const stream = await follow();
    await eventually('it has the picture', () => stream.text.includes('event: snapshot'));
    const ended = broker.end('SIGTERM');
    await eventually('it is over', () => stream.isOver);
    assert.match(stream.text, /"phase":"stopping"[^]*event: bye/);
    assert.equal(await ended, 0);
  });
});
