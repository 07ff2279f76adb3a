import assert from 'node:assert/strict';
import { chownSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { sendUnaryData, Server, ServerUnaryCall } from '@grpc/grpc-js';
import { askNodeInfo } from '../../../src/csi/ask-node-info.js';
import type { CsiNodeClient } from '../../../src/csi/csi-node-client.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { GRPC_STATUS, Refused } from '../../../src/model/reasons.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { csiNodeClients } from '../../../src/platform/grpc/csi-node-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { nodeService, NodeGetInfoResponse } from '../../../src/generated/proto/csi/v1/csi.js';
import { PluginServer, type Speech } from '../../../src/device-plugin/plugin-server.js';
import { guarding } from '../../support/guarding.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

const never = new AbortController().signal;
type Answer = Parameters<typeof NodeGetInfoResponse.encode>[0];

describe('the client of a CSI driver', () => {
  let folder: string;
  let socket: string;
  let servers: PluginServer[];
  let clients: CsiNodeClient[];
  let story: string[];
  let answer: Answer | Buffer | number | 'hang';
  /** Alarms of the system clock do not keep a process alive; where nobody listens, nothing else does. */
  let alive: NodeJS.Timeout;

  beforeEach(() => {
    alive = setInterval(() => undefined, 1000);
    folder = tempDir();
    socket = path.join(folder, 'csi.sock');
    servers = [];
    clients = [];
    story = [];
    answer = { nodeId: 'n1', maxVolumesPerNode: 5n, accessibleTopology: { segments: new Map([['zone', 'a']]) } };
  });
  afterEach(async () => {
    clearInterval(alive);
    for (const client of clients) client.close();
    await Promise.all(servers.map((server) => server.close()));
  });

  async function serve(speech: Speech = 'grpc'): Promise<PluginServer> {
    const NodeGetInfo = {
      ...nodeService.NodeGetInfo,
      responseSerialize: (value: Answer | Buffer) =>
        Buffer.isBuffer(value) ? value : NodeGetInfoResponse.encode(value),
    };
    const handler = (_call: ServerUnaryCall<object, object>, reply: sendUnaryData<object>): void => {
      if (typeof answer === 'number') reply(Object.assign(new Error('as the test wants it'), { code: answer }));
      else if (answer !== 'hang') reply(null, answer);
    };
    const attach = (server: Server): void => server.addService({ NodeGetInfo }, { NodeGetInfo: handler });
    const server = await PluginServer.listen(socket, attach, speech);
    servers.push(server);
    return server;
  }

  function open(): CsiNodeClient {
    const pinned = pin();
    const openClient = csiNodeClients({ clock: systemClock, random: seededRandom(5), pin: pinSocket, guarding });
    const client = openClient(pinned, {
      up: () => story.push('up'),
      lost: (details) => story.push(`lost: ${details}`),
    });
    pinned.release();
    clients.push(client);
    return client;
  }

  function pin(): PinnedSocket {
    const pinned = pinSocket(socket);
    if ('problem' in pinned) assert.fail(pinned.problem);
    return pinned;
  }

  /** For answers that are never in vain: a busy machine may take its time. */
  const AMPLE_MS = 10_000;
  /** For answers after which it is asked again until the time is over: one of them has to come in it. */
  const RETRIED_MS = 3_000;
  const BUDGETS = new Map<string, number>([
    ['NODE_INFO_FAILED', RETRIED_MS],
    ['NOT_GRPC', RETRIED_MS],
    ['NO_ANSWER', 300],
  ]);
  const ask = (client: CsiNodeClient, budgetMs = 300): Promise<unknown> =>
    askNodeInfo('d', client, budgetMs, { clock: systemClock, random: seededRandom(6) }, never).catch(
      (thrown: unknown) => (thrown instanceof Refused ? thrown.refusal.code : thrown),
    );
  const isUp = (): boolean => story.at(-1) === 'up';

  it('does not read an answer of more than 16 KiB: one whose parts are as long as they may be has four', async () => {
    await serve();
    const client = open();
    const segments = new Map(
      Array.from({ length: 32 }, (_, nth) => [`k${String(nth).padStart(30, '0')}`, 'v'.repeat(32)]),
    );
    answer = { nodeId: 'n'.repeat(256), maxVolumesPerNode: 5n, accessibleTopology: { segments } };
    assert.equal((await client.nodeGetInfo(AMPLE_MS, never)).ok, true);
    answer = { nodeId: 'n'.repeat(17_000), maxVolumesPerNode: 5n, accessibleTopology: undefined };
    const refused = await client.nodeGetInfo(AMPLE_MS, never);
    assert.match(refused.ok ? '' : refused.details, /larger than max/);
  });

  it('asks with the first call, without waiting for the connection', async () => {
    await serve();
    assert.deepEqual(await ask(open(), AMPLE_MS), {
      driver: 'd',
      nodeId: 'n1',
      count: 5,
      topology: [{ key: 'zone', value: 'a' }],
    });
    assert.deepEqual(story, ['up']);
  });

  const refusals: [what: string, given: typeof answer, code: string][] = [
    ['an error', GRPC_STATUS.INTERNAL, 'NODE_INFO_FAILED'],
    ['UNIMPLEMENTED', GRPC_STATUS.UNIMPLEMENTED, 'NOT_SERVED'],
    ['nothing at all', 'hang', 'NO_ANSWER'],
    ['an empty node id', { nodeId: '' }, 'NODE_ID_EMPTY'],
    ['an over-long node id', { nodeId: 'x'.repeat(257) }, 'NODE_ID_TOO_LONG'],
    ['a node id that is not UTF-8', Buffer.from([0x0a, 2, 0xc3, 0x28]), 'NODE_INFO_INVALID'],
    ['bytes that are no message', Buffer.alloc(64, 0xff), 'NODE_INFO_INVALID'],
    ['more than any answer can be', { nodeId: 'x'.repeat(300_000) }, 'NODE_INFO_FAILED'],
  ];
  for (const [what, given, code] of refusals) {
    it(`gives the reason ${code} for a driver that answers ${what}`, async () => {
      await serve();
      answer = given;
      assert.equal(await ask(open(), BUDGETS.get(code) ?? AMPLE_MS), code);
    });
  }

  const speeches: [speech: Speech, code: string][] = [
    ['dead', 'NO_LISTENER'],
    ['silent', 'NO_ANSWER'],
    ['http1', 'NOT_GRPC'],
    ['garbage', 'NOT_GRPC'],
  ];
  for (const [speech, code] of speeches) {
    it(`gives the reason ${code} when ${speech === 'dead' ? 'nobody listens' : `its answer is ${speech}`}`, async () => {
      await serve(speech);
      assert.equal(await ask(open(), BUDGETS.get(code)), code);
    });
  }

  it('waits inside its budget for a driver that registers before it serves', async () => {
    const dead = await serve('dead');
    const client = open();
    const asked = ask(client, 10_000);
    await eventually('the first try failed', () => story.length > 0);
    rmSync(dead.path, { force: true });
    await serve();
    assert.equal(typeof (await asked), 'object');
  });

  it('tells the loss of the connection, and comes back to the socket that the driver makes anew', async () => {
    const first = await serve();
    const client = open();
    await eventually('connected', isUp);
    await first.close();
    await eventually('lost', () => story.some((line) => line.startsWith('lost')));
    assert.equal((await client.nodeGetInfo(100, never)).ok, false);
    answer = { nodeId: 'n2' };
    await serve();
    await eventually('back', isUp);
    const result = await client.nodeGetInfo(AMPLE_MS, never);
    assert.equal(result.ok && result.answer.nodeId, 'n2');
  });

  it('comes back to the same socket after its connections were cut', async () => {
    const server = await serve();
    open();
    await eventually('connected', isUp);
    server.cutConnections();
    await eventually('back', () => story.filter((line) => line === 'up').length === 2);
  });

  it('does not follow the path to another place or another owner', async () => {
    const first = await serve();
    open();
    await eventually('connected', isUp);
    const elsewhere = path.join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    await first.close();
    await serve();
    renameSync(socket, path.join(elsewhere, 'csi.sock'));
    symlinkSync(path.join(elsewhere, 'csi.sock'), socket);
    await eventually('said', () => story.includes('lost: its path leads elsewhere now'));
    if (process.getuid?.() !== 0) return;
    rmSync(socket);
    await serve();
    chownSync(socket, 12_345, 0);
    await eventually('said', () =>
      story.some((line) => line.includes('belongs to uid 12345') || line === 'lost: the connection ended'),
    );
  });

  it('holds nothing after it was closed, at whatever moment', async () => {
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const server = await serve();
    const before = descriptors();
    for (let round = 0; round < 5; round++) {
      const client = open();
      if (round % 2 === 0) await eventually('connected', isUp);
      client.close();
      client.close();
      story.length = 0;
    }
    await eventually('all let go', () => server.connections === 0 && descriptors() <= before);
    assert.deepEqual(story, []);
  });
});
