import assert from 'node:assert/strict';
import { createServer, request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Server } from '@grpc/grpc-js';
import { registrationService as pluginRegistrationService } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import { eventually } from '../../support/eventually.js';
import { freePort } from '../../support/free-port.js';
import { callRegistrar, DRIVER, Rig, type RunningRegistrar } from './rig.js';

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly type: string | undefined;
}

describe('the HTTP server of the registrar', () => {
  let rig: Rig;
  let port: number;

  beforeEach(async () => {
    rig = new Rig();
    await rig.driver();
    port = await freePort();
  });
  afterEach(() => rig.close());

  async function start(...args: string[]): Promise<RunningRegistrar> {
    const running = rig.start(...rig.flags, ...args);
    await running.says('Serving HTTP');
    return running;
  }
  const get = (page: string, method = 'GET'): Promise<Answer> => ask(port, page, method);

  for (const flag of ['http-endpoint=localhost:', 'http-endpoint=127.0.0.1:', 'http-endpoint=:', 'health-port=']) {
    it(`answers /healthz with ok when it is well, with --${flag}PORT`, async () => {
      await start(`--${flag}${String(port)}`);
      assert.deepEqual(await get('/healthz'), { status: 200, body: 'ok', type: 'text/plain; charset=utf-8' });
      assert.equal((await get('/healthz', 'POST')).status, 200);
    });
  }

  it('is not there without a flag, or with a port that is not above 0', async () => {
    const running = rig.start(...rig.flags, '--health-port=-1');
    await running.says('Skipping the HTTP server');
  });

  it('keeps the newest of many connections: it answers, and those that were opened to stay end', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`);
    let ended = 0;
    const idle = Array.from({ length: 600 }, () => connect(port, 'localhost').on('error', () => undefined));
    for (const socket of idle) socket.once('close', () => (ended += 1)).resume();
    await Promise.all(idle.map(async (socket) => (socket.connecting ? once(socket, 'connect') : undefined)));
    await eventually('the oldest have ended', () => ended >= 88);
    assert.equal((await get('/healthz')).status, 200);
    for (const socket of idle) socket.destroy();
  });

  it('looks once for all who ask for /healthz at one time', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`, '--timeout=10s');
    let calls = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const service = {
      GetInfo: (_call: unknown, answer: (failure: null, value: object) => void): void => {
        calls += 1;
        void released.then(() => answer(null, { name: DRIVER }));
      },
    };
    const other = await PluginServer.listen(rig.socket, (server) =>
      server.addService({ GetInfo: pluginRegistrationService.GetInfo }, service),
    );
    const first = get('/healthz');
    await eventually('it is asked', () => calls === 1);
    const others = Array.from({ length: 20 }, () => get('/healthz'));
    await get('/other');
    release();
    assert.deepEqual(new Set((await Promise.all([first, ...others])).map(({ status }) => status)), new Set([200]));
    // For a request that came a moment too late the socket was asked again.
    assert.ok(calls <= 3, `${String(calls)} looks`);
    await other.close();
  });

  it('answers /healthz with 404 while the socket is missing', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`);
    rmSync(rig.socket);
    const { status, body } = await get('/healthz');
    assert.deepEqual([status, body], [404, 'registration socket does not exist']);
  });

  it('answers /healthz with 500 when something else is there', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`);
    rmSync(rig.socket);
    writeFileSync(rig.socket, '');
    const { status, body } = await get('/healthz');
    assert.equal(status, 500);
    assert.match(body, /is not a socket/);
  });

  it('answers /healthz with 500 when another driver answers on the socket, or nobody in time', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`, '--timeout=1s');
    const info =
      (name: string | undefined) =>
      (server: Server): void =>
        server.addService(
          { GetInfo: pluginRegistrationService.GetInfo },
          {
            GetInfo: (_call: unknown, reply: (failure: null, value: object) => void) =>
              name !== undefined && reply(null, { name }),
          },
        );
    const wrong = await PluginServer.listen(rig.socket, info('other.example.com'));
    assert.deepEqual((await get('/healthz')).body, 'invalid driver name "other.example.com"');
    await wrong.close();
    const hanging = await PluginServer.listen(rig.socket, info(undefined));
    const { status, body } = await get('/healthz');
    assert.equal(status, 500);
    assert.match(body, /DEADLINE_EXCEEDED/);
    await hanging.close();
  });

  it('answers everything else with 404 until flags add it', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`);
    for (const page of ['/', '/healthz/', '/readyz', '/metrics', '/debug/pprof/', '/debug/pprof/cmdline']) {
      assert.equal((await get(page)).status, 404, page);
    }
  });

  it('has profiles, readiness and metrics when flags ask for them', async () => {
    await start(`--http-endpoint=localhost:${String(port)}`, '--enable-pprof', '--readyz', '--metrics');
    assert.match((await get('/debug/pprof/cmdline')).body, /^me\0--csi-address=/);
    assert.equal((await get('/debug/pprof/')).status, 200);
    assert.equal((await get('/debug/pprof/trace')).status, 404);
    assert.equal((await get('/debug/pprof/profile?seconds=no')).status, 400);
    const profile = JSON.parse((await get('/debug/pprof/profile?seconds=0.05')).body) as { nodes: unknown[] };
    assert.ok(profile.nodes.length > 0);
    assert.deepEqual(
      [(await get('/readyz')).status, (await get('/readyz')).body],
      [503, `not registered by the kubelet yet: ${DRIVER}`],
    );
    await callRegistrar(rig.socket, 'GetInfo');
    await callRegistrar(rig.socket, 'NotifyRegistrationStatus', { pluginRegistered: true, error: '' });
    assert.equal((await get('/readyz')).status, 200);
    const { body, type } = await get('/metrics');
    assert.match(type ?? '', /version=0\.0\.4/);
    assert.match(body, new RegExp(`^csi_registrar_get_info_total\\{driver="${DRIVER}"\\} 1$`, 'm'));
    assert.match(body, new RegExp(`^csi_registrar_registered\\{driver="${DRIVER}"\\} 1$`, 'm'));
  });

  it('that cannot listen ends the program with 1', async () => {
    const taken = createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const running = rig.start(...rig.flags, `--http-endpoint=127.0.0.1:${String(port)}`);
    assert.equal(await running.code, 1);
    assert.match(running.err, /cannot listen on 127\.0\.0\.1:\d+: listen EADDRINUSE/);
    taken.close();
    for (const address of ['localhost', 'localhost:99999', ':x', 'a:b:1']) {
      const bad = rig.start(...rig.flags, `--http-endpoint=${address}`);
      assert.equal(await bad.code, 1, address);
    }
  });
});

function ask(port: number, path: string, method: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: 'localhost', port, path, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode: status, headers } = response;
        resolve({ status, body: Buffer.concat(chunks).toString(), type: headers['content-type'] });
      });
    });
    request.on('error', reject);
    request.end();
  });
}
