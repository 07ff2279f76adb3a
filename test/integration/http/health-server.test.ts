import { after, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../../src/kernel/clock.js';
import type { Log } from '../../../src/kernel/log.js';
import { silentLog } from '../../support/silence.js';
import { healthPages, type Phase } from '../../../src/platform/http/health-pages.js';
import { startHealthServer, type HealthServer, type HttpClients } from '../../../src/platform/http/health-server.js';
import { plainText, type Answer, type Asked, type Route, type Routes } from '../../../src/platform/http/router.js';
import { BrokerMetrics, processMetrics } from '../../../src/platform/metrics/broker-metrics.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { FakeClock } from '../../support/fake-clock.js';
import { eventually } from '../../support/eventually.js';

const open: HealthServer[] = [];
after(() => {
  for (const server of open) server.close();
});

async function serving(
  pages: Routes,
  port = 0,
  log: Log = silentLog,
  told: (why: string | undefined) => void = () => undefined,
  clock: Clock = systemClock,
  uidOfTcp: HttpClients['peers']['uidOfTcp'] = () => undefined,
): Promise<number> {
  const server = startHealthServer(
    { listen: { host: '127.0.0.1', port }, page: 'off', allowedHosts: ['broker.example'] },
    pages,
    clock,
    log,
    { told },
    {
      ownUid: 900,
      userOf: (uid) => (uid >= 100_000 ? 4001 : uid),
      peers: { uidOfTcp, turnAwayMoreTcp: () => undefined },
    },
  );
  assert.ok(server);
  open.push(server);
  return eventually('it listens', () => server.address?.port);
}

/** Far more than the buffers of both sides of a connection hold. */
const MOST_SENT = 64 * 1024 * 1024;

interface Got {
  readonly status: number;
  readonly body: string;
  readonly headers: NodeJS.Dict<string | string[]>;
}

async function get(port: number, path: string, method = 'GET'): Promise<Got> {
  const sent = request({ port, host: '127.0.0.1', path, method, agent: false });
  sent.end();
  const [response] = (await once(sent, 'response')) as [
    NodeJS.ReadableStream & { statusCode: number; headers: Got['headers'] },
  ];
  let body = '';
  response.on('data', (chunk: Buffer) => (body += chunk.toString()));
  await once(response, 'end');
  return { status: response.statusCode, body, headers: response.headers };
}

function brokerPages(phase: () => Phase, onSnapshot = (): void => undefined): Routes {
  const facts = {
    version: '1.2.3',
    plugins: [],
    devices: [],
    quarantined: 0,
    floodRules: [],
    openConnections: 0,
    leases: [],
    allocateWaiting: 0,
    degraded: [],
  };
  const snapshot = (): typeof facts => {
    onSnapshot();
    return facts;
  };
  return healthPages({ phase, metrics: new BrokerMetrics(), snapshot, process: processMetrics() });
}

describe('the pages', () => {
  it('say ready or not, and degraded is ready', async () => {
    let now: Phase = { phase: 'restoring', problems: [] };
    const port = await serving(brokerPages(() => now));
    assert.equal((await get(port, '/healthz')).status, 200);
    const seen: [number, string][] = [];
    for (const phase of ['restoring', 'ready', 'degraded', 'stopping'] as const) {
      now = { phase, problems: phase === 'degraded' ? ['the policy file is bad'] : [] };
      const { status, body } = await get(port, '/readyz?verbose');
      seen.push([status, body]);
    }
    assert.deepEqual(seen, [
      [503, 'restoring\n'],
      [200, 'ready\n'],
      [200, 'degraded\nthe policy file is bad\n'],
      [503, 'stopping\n'],
    ]);
  });

  it('have our figures and those of the process, in the type that Prometheus asks for', async () => {
    const port = await serving(brokerPages(() => ({ phase: 'ready', problems: [] })));
    for (const round of [1, 2]) {
      const { status, body, headers } = await get(port, '/metrics');
      assert.equal(status, 200, `round ${round}`);
      assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
      assert.match(body, /^plugin_broker_quarantined 0$/m);
      assert.match(body, /^process_resident_memory_bytes \d+/m);
      const [, spent] = /^process_cpu_seconds_total (\S+)/m.exec(body) ?? [];
      assert.ok(Number(spent) > 0.05, `the start of this process is counted, too: ${String(spent)} s`);
      assert.match(body, /^nodejs_eventloop_lag_seconds /m);
    }
  });
});

describe('/metrics', () => {
  it('is rendered once within a second, however often it is asked for', async () => {
    let now = 5_000;
    let rendered = 0;
    const pages = brokerPages(
      () => ({ phase: 'ready', problems: [] }),
      () => rendered++,
    );
    const port = await serving(pages, 0, silentLog, undefined, { ...systemClock, mono: () => now });
    for (let turn = 0; turn < 5; turn++) assert.equal((await get(port, '/metrics')).status, 200);
    now += 999;
    await get(port, '/metrics');
    assert.equal(rendered, 1);
    now += 1;
    await get(port, '/metrics');
    assert.equal(rendered, 2);
  });
});

describe('the server', () => {
  it('answers GET and HEAD, and nothing but its pages', async () => {
    const port = await serving(new Map([['/x', { make: () => plainText(200, 'there') }]]));
    assert.equal((await get(port, '/x')).body, 'there\n');
    const head = await get(port, '/x', 'HEAD');
    assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '6']);
    const post = await get(port, '/x', 'POST');
    assert.deepEqual([post.status, post.headers['allow']], [405, 'GET, HEAD']);
    for (const path of ['/', '/x/', '/../x', '/__proto__', '/constructor'])
      assert.equal((await get(port, path)).status, 404, path);
  });

  it('makes a page once for all requests of the same time, and says when it cannot', async () => {
    let made = 0;
    let finish = (): void => undefined;
    const gate = new Promise<void>((resolve) => (finish = resolve));
    const slow = async () => {
      made++;
      await gate;
      return plainText(200, 'done');
    };
    const failing = () => Promise.reject(new Error('no'));
    const port = await serving(
      new Map([
        ['/slow', { make: slow }],
        ['/failing', { make: failing }],
      ]),
    );
    const asked = Array.from({ length: 20 }, () => get(port, '/slow'));
    await get(port, '/other');
    await eventually('all have asked', () => made === 1);
    finish();
    assert.ok((await Promise.all(asked)).every(({ status }) => status === 200));
    assert.ok(made < 20);
    assert.equal((await get(port, '/failing')).status, 500);
  });

  it('answers as itself only: an IP address, localhost or an allowed name, but for the probes', async () => {
    const port = await serving(
      new Map([
        ['/x', { make: () => plainText(200, 'there') }],
        ['/healthz', { isProbe: true, make: () => plainText(200, 'ok') }],
      ]),
    );
    const as = async (host: string, path = '/x'): Promise<number> => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await once(socket, 'close');
      return Number(text.split(' ')[1]);
    };
    for (const host of [
      '127.0.0.1',
      `127.0.0.1:${port}`,
      'localhost:1',
      'LOCALHOST',
      '[::1]:80',
      'broker.example',
      'Broker.Example:9',
    ]) {
      assert.equal(await as(host), 200, host);
    }
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '',
      '[evil]',
      'a@127.0.0.1',
    ]) {
      assert.equal(await as(host), 421, host);
    }
    assert.equal(await as('evil.example', '/healthz'), 200);
    assert.equal(await as('evil.example', '/none'), 421);
  });

  it('makes a page that may be a second old once in a second', async () => {
    let made = 0;
    const page = { freshMs: 60_000, make: () => plainText(200, `made ${++made}`) };
    const port = await serving(new Map([['/x', page]]));
    for (let turn = 0; turn < 5; turn++) assert.equal((await get(port, '/x')).body, 'made 1\n');
    assert.equal(made, 1);
  });

  it('reads one request of a connection at a time, and answers those that pipeline in their order', async () => {
    let asked = 0;
    let answer = (): void => undefined;
    const until = new Promise<void>((resolve) => (answer = resolve));
    const slow = async (): Promise<Answer> => {
      asked += 1;
      await until;
      return plainText(200, 'slow');
    };
    const routes = new Map<string, Route>([['/slow', { isAsked: true, make: slow }]]);
    for (let nth = 0; nth < 30; nth++) routes.set(`/${nth}`, { make: () => plainText(200, `nth ${nth}`) });
    const port = await serving(routes);
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const ask = (path: string, end = '\r\n'): string => `GET ${path} HTTP/1.1${end}Host: localhost${end}${end}`;
    const all = Array.from({ length: 30 }, (_, nth) => ask(`/${nth}`)).join('');
    socket.write(ask('/slow').slice(0, -3));
    socket.write(ask('/slow').slice(-3) + all.slice(0, 100));
    await eventually('the first is asked for', () => asked === 1);
    // As much as somebody likes: it stays where it is, and no request is made of it.
    const more = Buffer.from(ask('/slow').repeat(500_000)); // more than the kernel keeps
    socket.write(all.slice(100));
    socket.write(more);
    await pause(200);
    assert.ok(socket.writableLength > more.length / 2, 'it is read although nothing was answered');
    assert.equal(asked, 1);
    answer();
    await eventually('all are answered', () => text.includes('nth 29\n'));
    const bodies = text.match(/^(slow|nth \d+)$/gm)?.slice(0, 31);
    assert.deepEqual(bodies, ['slow', ...Array.from({ length: 30 }, (_, nth) => `nth ${nth}`)]);
    socket.destroy();
  });

  it('reads no body: the connection ends with the answer', async () => {
    const port = await serving(brokerPages(() => ({ phase: 'ready', problems: [] })));
    for (const head of ['Transfer-Encoding: chunked\r\n\r\n80000000\r\n', 'Content-Length: 2147483648\r\n\r\n']) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      let answer = '';
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      let sent = 0;
      const piece = Buffer.alloc(65_536);
      const more = (): void => {
        while (!socket.destroyed && sent < MOST_SENT && socket.write(piece)) sent += piece.length;
      };
      socket.on('drain', more);
      socket.write(`POST /healthz HTTP/1.1\r\nHost: localhost\r\n${head}`, more);
      await closed;
      assert.match(answer, /^HTTP\/1\.1 405 /);
      assert.ok(sent < MOST_SENT, `${String(sent)} octets of a body were taken`);
    }
  });

  it('ends a connection whose head comes octet by octet', async () => {
    const port = await serving(brokerPages(() => ({ phase: 'ready', problems: [] })));
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined);
    let [isClosed, sent] = [false, 0];
    socket.on('close', () => (isClosed = true));
    for (const octet of Buffer.from(`GET /healthz HTTP/1.1\r\nX: ${'x'.repeat(500)}`)) {
      if (isClosed) break;
      // A read of its own for each: the one before has arrived.
      await new Promise((resolve) => socket.write(Buffer.from([octet]), resolve));
      await pause(1);
      sent += 1;
    }
    await eventually('the connection is closed', () => isClosed);
    assert.ok(sent < 500, `${String(sent)} octets`);
  });

  it('lets go of a caller that leaves before it is answered, with all its other requests', async () => {
    let left = 0;
    const hangs = ({ signal }: Asked): Promise<Answer> =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          left += 1;
          reject(new Error('it left'));
        }),
      );
    const port = await serving(new Map([['/x', { isAsked: true, make: hangs }]]));
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'connect');
    socket.end();
    await eventually('it is let go', () => left === 1);
  });

  it('goes on after bytes that are no HTTP, and after peers that vanish', async () => {
    const port = await serving(new Map([['/x', { make: () => plainText(200, 'there') }]]));
    for (const bytes of ['\0\0\0\n\n', `GET /x HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 'GET /x HTTP/1.1\r\n']) {
      const peer = connect(port, '127.0.0.1');
      peer.on('error', () => undefined);
      peer.write(bytes);
      await once(peer, 'connect');
      peer.destroy();
    }
    assert.equal((await get(port, '/x')).status, 200);
  });

  it('whose address is taken says so, and serves as soon as it is free', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const told: (string | undefined)[] = [];
    const pages = new Map([['/x', { make: () => plainText(200, 'there') }]]);
    const started = serving(pages, port, silentLog, (why) => void told.push(why));
    await eventually('it is told', () => told.length > 0);
    assert.match(told[0] ?? '', new RegExp(`127\\.0\\.0\\.1:${port} cannot be used \\(EADDRINUSE\\)`));
    holder.close();
    assert.equal(await started, port);
    assert.equal((await get(port, '/x')).status, 200);
    assert.equal(told.at(-1), undefined);
  });

  it('does not exist when it is off', () => {
    const off = { listen: undefined, page: 'off', allowedHosts: [] } as const;
    const told = (): void => undefined;
    const peers = { uidOfTcp: () => undefined, turnAwayMoreTcp: () => undefined };
    const clients = { ownUid: 0, userOf: (uid: number) => uid, peers };
    assert.equal(startHealthServer(off, new Map(), systemClock, silentLog, { told }, clients), undefined);
  });

  it('takes new connections of one user up at a pace, and those of root and of others at once', async () => {
    const clock = new FakeClock();
    let uid: number | 'nobody' | undefined = 4001;
    const pages: Routes = new Map([['/healthz', { make: () => plainText(200, 'ok'), isProbe: true }]]);
    const port = await serving(
      pages,
      0,
      silentLog,
      () => undefined,
      clock,
      () => uid,
    );
    let [answered, closed] = [0, 0];
    /** As many clients, one after the other. */
    const ask = async (clients: number): Promise<void> => {
      for (let client = 0; client < clients; client += 1) {
        const socket = connect(port, '127.0.0.1');
        socket.on('data', () => (answered += 1)).on('error', () => undefined);
        socket
          .on('close', () => (closed += 1))
          .end('GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
        await once(socket, 'connect');
      }
    };
    await ask(64);
    await eventually('all are answered', () => answered === 64 && closed === 64);
    uid = 100_001; // one of its range
    await ask(142);
    await eventually('some wait, and others are closed', () => closed === 64 + 14);
    assert.equal(answered, 64);
    uid = 4002;
    await ask(1);
    uid = 0;
    await ask(100);
    uid = 900;
    await ask(70);
    uid = undefined;
    await ask(70);
    await eventually('others are answered', () => answered === 64 + 1 + 100 + 70 + 70);
    await clock.advance(128 * 50);
    await eventually('those that waited are answered', () => answered === 64 + 241 + 128);
    uid = 'nobody';
    await ask(64 + 128 + 2);
    await eventually('those that nobody has open any more are one peer', () => closed === 64 + 14 + 241 + 128 + 64 + 2);
  });

  it('answers probes on one connection ten times a second, and others at once', async () => {
    const port = await serving(new Map([['/healthz', { make: () => plainText(200, 'ok'), isProbe: true }]]));
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    let got = '';
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()));
    const answers = (): number => got.split('HTTP/1.1 200').length - 1;
    const begun = performance.now();
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500));
    for (let probe = 0; probe < 5; probe += 1) assert.equal((await get(port, '/healthz')).status, 200);
    const most = 1 + (performance.now() - begun) / 100;
    assert.ok(answers() <= most, `${String(answers())} of ${String(most)}`);
    await eventually('the next ones come in their time', () => answers() > 5);
    socket.destroy();
  });

  it('refuses what is too long, or too much at once, ten times a second on one connection', async () => {
    const port = await serving(new Map([['/x', { make: () => plainText(200, 'ok') }]]));
    for (const [code, path, connections] of [
      ['414 URI Too Long', `/${'x'.repeat(2100)}`, 1],
      ['503 Service Unavailable', '/x', 60],
    ] as const) {
      const begun = performance.now();
      const all = Array.from({ length: connections }, () => {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined);
        const loud = { socket, got: '' };
        socket.on('data', (chunk: Buffer) => (loud.got += chunk.toString()));
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(500));
        return loud;
      });
      const refusals = (): number[] => all.map(({ got }) => got.split(`HTTP/1.1 ${code}`).length - 1);
      await eventually('one is refused a few times', () => refusals().some((count) => count > 2));
      const most = 1 + (performance.now() - begun) / 100;
      assert.ok(Math.max(...refusals()) <= most, `${String(Math.max(...refusals()))} of ${String(most)}, ${code}`);
      for (const { socket } of all) socket.destroy();
    }
  });

  it('answers the probe that comes while all slots are taken by endless probes', async () => {
    const port = await serving(new Map([['/healthz', { make: () => plainText(200, 'ok'), isProbe: true }]]));
    const all = Array.from({ length: 64 }, () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      const loud = { socket, got: '' };
      socket.on('data', (chunk: Buffer) => (loud.got += chunk.toString()));
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000));
      return loud;
    });
    for (const loud of all) await eventually('it is answered', () => loud.got.includes('200 OK'));
    for (let probe = 0; probe < 10; probe += 1) assert.equal((await get(port, '/healthz')).status, 200);
    await eventually('somebody gave way', () => all.some(({ got }) => got.includes('503 Service Unavailable')));
    for (const { socket } of all) socket.destroy();
  });

  it('answers metrics while everything else that may be asked at once is asked', async () => {
    const held: (() => void)[] = [];
    const slow = (): Promise<Answer> => new Promise((resolve) => held.push(() => resolve(plainText(200, 'at last'))));
    const metrics = brokerPages(() => ({ phase: 'ready', problems: [] })).get('/metrics');
    assert.ok(metrics !== undefined);
    const port = await serving(
      new Map<string, Route>([
        ['/x', { make: slow, isAsked: true }],
        ['/metrics', metrics],
      ]),
    );
    const busy = Array.from({ length: 48 }, (_, index) => get(port, `/x?${String(index)}`));
    await eventually('all are asked', () => held.length === 48);
    const statuses = [(await get(port, '/x')).status, (await get(port, '/metrics')).status];
    for (const end of held) end();
    assert.deepEqual(statuses, [503, 200]);
    for (const { status } of await Promise.all(busy)) assert.equal(status, 200);
  });

  it('is there for a waiting client, however many others ask and hang up', async () => {
    const page: Route = { make: () => plainText(200, 'all is well') };
    const port = await serving(
      new Map([
        ['/metrics', page],
        ['/healthz', { ...page, isProbe: true }],
      ]),
    );
    const ask = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
    for (let round = 0; round < 10; round += 1) {
      const sockets = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const socket = connect(port, '127.0.0.1');
          socket.on('error', () => undefined);
          await once(socket, 'connect');
          socket.write(ask);
          return socket;
        }),
      );
      assert.equal((await get(port, '/healthz')).status, 200); // the requests before it are read by now
      for (const socket of sockets) socket.resetAndDestroy();
      await eventually('they have gone', () => sockets.every((socket) => socket.closed));
    }
    // 400 turns would be 20 s, in which a server ends a connection that is not answered.
    assert.equal((await get(port, '/metrics')).status, 200);
  });
});
