import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { seededRandom } from '../../support/seeded-random.js';
import { Border } from '../../../src/platform/http2/border.js';
import type { ConnectionEnd } from '../../../src/model/connection-ends.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, readSettings, SETTING } from '../../../src/platform/http2/frames.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { HpackClient } from '../../support/http2/hpack-client.js';
import { RawPeer } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';

const isSettings = ({ type, flags }: { type: number; flags: number }): boolean =>
  type === FRAME.SETTINGS && (flags & FLAG.ACK) === 0;

void describe('header tables on both sides of the border, against nghttp2', () => {
  const socketPath = path.join(tempDir(), 's');
  const ends: ConnectionEnd[] = [];
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer({ settings: { headerTableSize: 300 } });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.end(`12345${JSON.stringify(headers)}`);
  });
  const listener = net.createServer((socket) => {
    const guard = { ...guardSettings, settings: 1000 };
    server.emit('connection', new Border(socket, { guard, clock: systemClock, onEnd: (end) => ends.push(end) }));
  });
  before(() => new Promise<void>((resolve) => listener.listen(socketPath, resolve)));
  after(() => new Promise((resolve) => listener.close(resolve)));

  for (const authority of ['localhost', '/run/raw.sock', 'sometimes']) {
    void it(`stay in step through every form of HPACK and changing table sizes, with the authority ${authority}`, async () => {
      for (let seed = 0; seed < 4; seed++) {
        const random = seededRandom(seed);
        const hpack = new HpackClient(random);
        const peer = await RawPeer.greeted(socketPath);
        hpack.limitTable(300);
        let settingsSeen = 1;
        for (let stream = 1; stream < 60; stream += 2) {
          if (random.next() < 0.2) {
            const headerTableSize = Math.floor(random.next() * 5000);
            const session = await eventually('the session', () => [...sessions].at(-1));
            session.settings({ headerTableSize });
            await eventually('its SETTINGS', () => peer.frames.filter(isSettings).length > settingsSeen);
            settingsSeen++;
            peer.write(encodeFrame(FRAME.SETTINGS, FLAG.ACK, 0, Buffer.alloc(0)));
            const last = new Map(readSettings(peer.frames.findLast(isSettings)!.payload));
            hpack.limitTable(last.get(SETTING.HEADER_TABLE_SIZE) ?? 4096);
          }
          const raw = authority === 'sometimes' ? (random.next() < 0.8 ? 'localhost' : '/raw') : authority;
          const block = hpack.block([
            [':method', 'POST'],
            [':scheme', 'http'],
            [':path', '/x'],
            [':authority', raw],
            ['user-agent', `agent/${Math.floor(random.next() * 4)}`],
            ['x-number', String(stream)],
          ]);
          peer.write(...encodeHeaders(FLAG.END_STREAM, stream, block));
          const seen = JSON.parse(await peer.answer(stream)) as Record<string, string>;
          assert.equal(seen['x-number'], String(stream));
          assert.equal(seen[':authority'], 'localhost');
          assert.match(seen['user-agent']!, /^agent\/\d$/);
        }
        peer.destroy();
        await eventually('the session is gone', () => sessions.size === 0);
      }
      assert.deepEqual(ends, []);
    });
  }
});
