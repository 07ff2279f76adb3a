// The services that every gRPC tool expects of broker.sock, asked by clients that others made.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Child } from '../support/child.js';
import { Broker } from './support/broker.js';
import { buildGo, python } from './support/programs.js';
import { missing } from './support/tools.js';

const SERVICES = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  'pluginbroker.v1.Admin',
];

void describe('broker.sock', () => {
  let broker: Broker;
  before(async () => {
    broker = await Broker.start();
  });
  after(async () => {
    assert.equal(await broker.stop(), 0);
  });
  const socket = (): string => path.join(broker.root, 'broker.sock');

  void it(
    'tells a Python client how it is and what it serves, and is called with no more than that',
    { skip: missing('python') },
    async () => {
      const client = new Child(python('reflect.py'), ['--socket', socket()]);
      assert.equal(await client.end(), 0, client.story);
      assert.deepEqual(client.lines, [
        'health server SERVING',
        'health pluginbroker.v1.Admin SERVING',
        'health nobody.v1.Knows NOT_FOUND',
        ...['v1', 'v1alpha'].flatMap((version) => [
          `${version} services ${SERVICES.join(' ')}`,
          `${version} unknown 5`,
          `${version} called phase=ready`,
        ]),
      ]);
    },
  );

  void it(
    "lets in an old grpc-go client that dials the bare path, with the library's own health and reflection",
    { skip: missing('go') },
    async () => {
      const client = new Child(buildGo().reflect, [socket()]);
      assert.equal(await client.end(), 0, client.story);
      assert.deepEqual(client.lines, [
        'health SERVING',
        'watch SERVING',
        ...SERVICES.map((name) => `service ${name}`),
        'files 1',
      ]);
    },
  );
});
