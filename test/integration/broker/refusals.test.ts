import assert from 'node:assert/strict';
import { closeSync, openSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { describeReason, REFUSALS, type RefusalCode } from '../../../src/model/reasons.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, type FakePluginOptions } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

/** A TLS 1.2 alert, as a server answers to a client that greets it in another language. */
const TLS_ALERT = Buffer.from('15030300020246', 'hex');
/** A TLS 1.2 ServerHello, cut off. */
const TLS_HELLO = Buffer.from(`160303003a020000360303${'ab'.repeat(32)}00c02f00`, 'hex');

/** A fault, seen at one door. */
interface Fault {
  readonly title: string;
  readonly code: RefusalCode;
  /** The sentence beside the code. */
  readonly says: RegExp;
  readonly plugin?: Partial<FakePluginOptions>;
  /** Differences to the usual Register call. */
  readonly call?: Parameters<FakePlugin['register']>[1];
  /** Makes what else it takes, in the directory of the door. */
  readonly prepare?: (directory: string, outside: string) => void;
  /** Answers each connection with these bytes instead of gRPC. */
  readonly bytes?: Buffer;
  /** The file name of the socket. */
  readonly file?: string;
}

const WRONG_PROTOCOLS: Fault[] = [
  { title: 'nobody listens', code: 'NO_LISTENER', says: /nobody listens/, plugin: { speech: 'dead' } },
  { title: 'a listener that never answers', code: 'NO_ANSWER', says: /no answer within/, plugin: { speech: 'silent' } },
  { title: 'HTTP/1', code: 'NOT_GRPC', says: /does not speak gRPC/, plugin: { speech: 'http1' } },
  { title: 'garbage', code: 'NOT_GRPC', says: /does not speak gRPC/, plugin: { speech: 'garbage' } },
  { title: 'a TLS hello', code: 'NOT_GRPC', says: /does not speak gRPC/, bytes: TLS_HELLO },
  { title: 'a TLS alert and an end', code: 'NOT_GRPC', says: /does not speak gRPC/, bytes: TLS_ALERT },
];

const AT_REGISTER: Fault[] = [
  {
    title: 'a wrong version',
    code: 'VERSION_UNSUPPORTED',
    says: /"v1alpha7" is not supported; supported versions are \["v1beta1"\]/,
    call: { version: 'v1alpha7' },
  },
  {
    title: 'a wrong name',
    code: 'NAME_INVALID',
    says: /vendor-domain\/resource/,
    call: { resourceName: 'gpu-without-domain' },
  },
  {
    title: 'an endpoint that escapes',
    code: 'ENDPOINT_OUTSIDE',
    says: /outside of /,
    call: { endpoint: '../outside.sock' },
  },
  {
    title: 'a symlink that leads out',
    code: 'ENDPOINT_OUTSIDE',
    says: /leads to .*outside\.sock, outside of /,
    prepare: (directory, outside) => symlinkSync(outside, path.join(directory, 'link.sock')),
    call: { endpoint: 'link.sock' },
  },
  {
    title: 'a path over 107 bytes',
    code: 'ENDPOINT_TOO_LONG',
    says: /has \d+ bytes; a unix socket address holds 107/,
    call: { endpoint: 'x'.repeat(120) },
  },
  ...WRONG_PROTOCOLS,
];

const AT_WATCHER: Fault[] = [
  {
    title: 'a wrong version',
    code: 'VERSION_UNSUPPORTED',
    says: /supported versions are \["v1beta1"\]/,
    plugin: { info: { supportedVersions: ['v1alpha7'] } },
  },
  {
    title: 'a wrong name',
    code: 'NAME_INVALID',
    says: /vendor-domain\/resource/,
    plugin: { resource: 'driver-without-domain' },
  },
  {
    title: 'an endpoint that escapes',
    code: 'ENDPOINT_OUTSIDE',
    says: /outside of /,
    plugin: { info: { endpoint: '../outside.sock' } },
  },
  {
    title: 'a path over 107 bytes',
    code: 'ENDPOINT_TOO_LONG',
    says: /bytes/,
    file: `${'long'.repeat(20)}.sock`,
  },
  ...WRONG_PROTOCOLS,
];

describe('refusals', () => {
  const root = tempDir();
  const outside = path.join(root, 'outside.sock');
  const broker = new BrokerProcess(root, {
    timeouts: { options: '400ms', getInfo: '400ms', register: '3s' },
    discovery: { retryMax: '1s' },
  });
  const plugins: FakePlugin[] = [];
  const servers: Server[] = [];
  const allocatable = new Set<number | undefined>();
  let healthy: FakePlugin;
  let isOver = false;
  let polling = Promise.resolve();
  async function poll(): Promise<void> {
    while (!isOver) allocatable.add(await broker.allocatable('example.com/healthy'));
  }

  before(async () => {
    await broker.start();
    plugins.push(await FakePlugin.start({ socket: outside, resource: 'example.com/outside', door: 'watcher' }));
    healthy = await FakePlugin.start({
      socket: path.join(broker.devicePlugins, 'healthy.sock'),
      resource: 'example.com/healthy',
    });
    plugins.push(healthy);
    await healthy.register(broker.kubeletSocket);
    await eventually('in', async () => (await broker.allocatable('example.com/healthy')) === 2);
    polling = poll();
  });
  after(async () => {
    isOver = true;
    await polling;
    await broker.close();
    await Promise.all(plugins.map((one) => one.stop()));
    for (const server of servers) server.close();
  });

  async function start(
    fault: Fault,
    directory: string,
    name: string,
    door: 'register' | 'watcher',
  ): Promise<FakePlugin> {
    const socket = path.join(directory, fault.file ?? `${name}.sock`);
    const options = { socket, resource: `example.com/${name}`, door, ...fault.plugin };
    fault.prepare?.(directory, outside);
    if (fault.bytes !== undefined) {
      servers.push(await speaker(socket, fault.bytes));
      return new FakePlugin(options);
    }
    if (fault.file !== undefined) {
      servers.push(await speaker(socket, Buffer.alloc(0)));
      return new FakePlugin(options);
    }
    const one = await FakePlugin.start(options);
    plugins.push(one);
    return one;
  }

  async function told(code: RefusalCode, says: RegExp, subject: string): Promise<void> {
    const event = await eventually(`an event about ${subject}`, async () => {
      for await (const each of broker.admin.events(0, '', false)) {
        const isMeant = each.plugin === `DevicePlugin/${subject}` || each.socket === subject;
        if (each.type === 'refused' && each.reason === code && isMeant) return each;
      }
      return undefined;
    });
    assert.match(event.message, says);
    assert.doesNotMatch(event.message, /\n|\.$/, 'one sentence');
    // The log takes another way than the event.
    await eventually(`a warning in the log with ${code} and "${event.message}"`, () => {
      const lines = broker.log.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
      const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      return logged.some((line) => Object.values(line).includes(event.message) && line['code'] === code);
    });
    const explained = await broker.admin.explain(subject, '');
    assert.equal(explained.state, 'rejected');
    assert.equal(explained.reason, code);
    assert.equal(explained.remedy, describeReason(code).remedy);
    assert.match(explained.why, says);
  }

  for (const [at, fault] of AT_REGISTER.entries()) {
    void it(`at the Register door, ${fault.title}: ${fault.code} on the wire, in events, log and explain`, async () => {
      const one = await start(fault, broker.devicePlugins, `r${String(at)}`, 'register');
      const failure = await one.register(broker.kubeletSocket, fault.call).then(
        () => undefined,
        (thrown: unknown) => thrown as { code: number; details: string },
      );
      assert.ok(failure, 'it was let in');
      assert.equal(failure.code, REFUSALS[fault.code].grpc);
      assert.match(failure.details, new RegExp(`^${fault.code}: `));
      assert.match(failure.details, fault.says);
      await told(fault.code, fault.says, fault.call?.resourceName ?? one.resource);
    });
  }

  for (const [at, fault] of AT_WATCHER.entries()) {
    void it(`at the watcher door, ${fault.title}: ${fault.code} to the plugin, in events, log and explain`, async () => {
      const one = await start(fault, broker.registry, `w${String(at)}`, 'watcher');
      const isKnown = fault.plugin?.speech === undefined && fault.bytes === undefined && fault.file === undefined;
      await told(fault.code, fault.says, isKnown ? one.resource : one.socket);
      if (!isKnown) return;
      const answer = await eventually('the plugin is told', () => one.notified[0]);
      assert.match(answer, new RegExp(`^${fault.code}: `));
      assert.match(answer, fault.says);
      assert.ok(answer.includes(describeReason(fault.code).remedy));
    });
  }

  void it('at the watcher door, a symlink that leads out: ENDPOINT_OUTSIDE to the plugin, in events, log and explain', async () => {
    const [stranger] = plugins;
    assert.ok(stranger);
    symlinkSync(outside, path.join(broker.registry, 'link.sock'));
    await told('ENDPOINT_OUTSIDE', /leads to .*outside\.sock, outside of /, 'example.com/outside');
    const answer = await eventually('the plugin is told', () => stranger.notified[0]);
    assert.match(answer, /^ENDPOINT_OUTSIDE: /);
  });

  void it('and the healthy plugin next to it notices nothing', () => {
    assert.deepEqual([...allocatable], [2]);
    assert.deepEqual([healthy.streams, healthy.count('ListAndWatch'), healthy.connections], [1, 1, 1]);
  });
});

/** A server that answers each connection with the same bytes. Binds through a short name: its own may be too long. */
async function speaker(socket: string, bytes: Buffer): Promise<Server> {
  const server = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.resume();
    if (bytes === TLS_ALERT) connection.end(bytes);
    else connection.write(bytes);
  });
  const directory = openSync(path.dirname(socket), 'r');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(`/proc/self/fd/${String(directory)}/${path.basename(socket)}`, resolve);
  });
  closeSync(directory);
  server.unref();
  return server;
}
