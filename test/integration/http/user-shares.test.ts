// Beside one user that asks on all the connections that it can have, root and another user are answered: by the server, and by the
// real broker, whose kernel says who asks.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startHealthServer } from '../../../src/platform/http/health-server.js';
import { plainText, type Answer, type Route } from '../../../src/platform/http/router.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { Child } from '../../support/child.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { httpOf } from '../../support/scrape.js';
import { silentLog } from '../../support/silence.js';
import { tempDir } from '../../support/temp-dir.js';

const PROGRAM = path.join(import.meta.dirname, '..', '..', 'support', 'http-crowd-process.js');
const [CROWD, OTHER] = [4001, 4002];
const skip =
  process.getuid?.() !== 0 ? 'needs root to be other users' : loadLibc() === undefined && 'koffi is not installed';

describe('the requests of one user', () => {
  it('have a quarter of the slots, and further ones are refused at a pace that nobody else feels', async (t) => {
    const clock = new FakeClock();
    const held: (() => void)[] = [];
    const slow = (): Promise<Answer> => new Promise((resolve) => held.push(() => resolve(plainText(200, 'at last'))));
    let uid = CROWD;
    const server = startHealthServer(
      { listen: { host: '127.0.0.1', port: 0 }, page: 'off', allowedHosts: [] },
      new Map<string, Route>([['/x', { make: slow, isAsked: true }]]),
      clock,
      silentLog,
      { told: () => undefined },
      { ownUid: 900, userOf: (one) => one, peers: { uidOfTcp: () => uid, turnAwayMoreTcp: () => undefined } },
    );
    t.after(() => server?.close());
    const port = await eventually('it listens', () => server?.address?.port);
    const got: (number | undefined)[] = [];
    const ask = (): void => {
      get({ port, host: '127.0.0.1', path: '/x', agent: false }, (response) => {
        got.push(response.statusCode);
        response.resume();
      });
    };
    for (let client = 0; client < 60; client += 1) ask();
    await eventually('twelve are held and ten refused at once', () => held.length === 12 && got.length === 10);
    await eventually('all others wait', () => clock.pending === 60 - 12 - 10);
    await clock.advance(5 * 20);
    await eventually('one more each interval', () => got.length === 15);
    for (const other of [OTHER, 0]) {
      const before = held.length;
      uid = other;
      ask();
      await eventually('that of another one is taken up', () => held.length === before + 1);
    }
    await clock.advance(64 * 20);
    await eventually('all are refused in the end', () => got.length === 48);
    for (const end of held) end();
    await eventually('and those that were held are answered', () => got.length === 62);
    assert.equal(got.filter((status) => status === 503).length, 48);
    assert.equal(clock.pending, 0);
  });
});

describe('beside a user that asks on all the connections that it can have', { skip }, () => {
  const broker = new BrokerProcess(tempDir(), { http: { listen: '127.0.0.1:0' } });
  const children: Child[] = [];
  let url = '';

  before(async () => {
    await broker.start();
    url = await httpOf(broker);
  });
  after(async () => {
    await Promise.all(children.map((child) => child.stop()));
    await broker.close();
  });

  function asking(uid: number, to: string, connections: number): Child {
    const args = [String(uid), `${url}${to}`, String(connections)];
    const child = new Child({ command: process.execPath, args: [PROGRAM], env: {} }, args);
    children.push(child);
    return child;
  }

  for (const crowded of ['metrics', 'api/v1/events', 'api/v1/stream']) {
    it(`for ${crowded}, root and another user get metrics, status and a stream each time`, async () => {
      const crowd = asking(CROWD, crowded, 60);
      await eventually('it has all that it can have', () => crowd.lines.includes('503'));
      for (const uid of [0, OTHER]) {
        for (const to of ['metrics', 'api/v1/status', 'api/v1/stream', 'healthz']) {
          const one = asking(uid, to, 1);
          assert.equal(await one.end(), 0, one.story);
          assert.deepEqual(one.lines, Array<string>(10).fill('200'), `/${to} for uid ${String(uid)}`);
        }
      }
      await crowd.stop();
    });
  }
});
