import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { NodeInfoPublisher } from '../../../src/csi/node-info-publisher.js';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import { silentLog } from '../../support/silence.js';
import { seededRandom } from '../../support/seeded-random.js';
import { ApiClient } from '../../../src/platform/kubernetes/api-client.js';
import { ApiTarget } from '../../../src/platform/kubernetes/api-target.js';
import { Ledger } from '../../../src/platform/kubernetes/ledger.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { ApiServer, type Fault, type SeenRequest } from '../../support/api-server.js';
import { eventually } from '../../support/eventually.js';
import { byName, info, zone } from '../../support/node-infos.js';
import { tempDir } from '../../support/temp-dir.js';

const NODE = 'worker-1';
const ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const never = new AbortController().signal;

const isWrite = ({ method }: SeenRequest): boolean => method !== 'GET';

describe('publishing to the API server', () => {
  let server: ApiServer;
  let folder: string;
  let kubeconfig: string;
  let errors: string[];
  let publishers: NodeInfoPublisher[];

  before(() => {
    folder = tempDir();
  });
  beforeEach(async () => {
    server = new ApiServer();
    await server.listen();
    kubeconfig = path.join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, server.kubeconfig());
    errors = [];
    publishers = [];
  });
  afterEach(async () => {
    await Promise.all(publishers.map((publisher) => publisher.stop()));
    await server.close();
  });
  after(() => {
    delete process.env['KUBERNETES_SERVICE_HOST'];
    delete process.env['KUBERNETES_SERVICE_PORT'];
  });

  function open({
    ledger = path.join(folder, `ledger-${String(server.port)}`),
    callMs = 10_000,
    clusterRoot = '',
  } = {}): {
    target: ApiTarget;
    publisher: NodeInfoPublisher;
  } {
    const client = new ApiClient({
      kubeconfig: clusterRoot === '' ? kubeconfig : undefined,
      clock: systemClock,
      callMs,
      ...(clusterRoot === '' ? {} : { clusterRoot }),
    });
    const target = new ApiTarget({
      client,
      ledger: new Ledger(ledger, NODE),
      nodeName: NODE,
      clock: systemClock,
      log: silentLog,
    });
    const log = { ...silentLog, error: (_: string, message: string): void => void errors.push(message) };
    const publisher = new NodeInfoPublisher({ target, clock: systemClock, random: { next: () => 0.001 }, log });
    publishers.push(publisher);
    return { target, publisher };
  }

  const done = (publisher: NodeInfoPublisher): Promise<true> =>
    eventually('everything published', () => publisher.isDone);
  const drivers = (): unknown => server.csiNode(NODE)?.spec?.drivers;
  const ids = (): unknown => {
    const text = server.node(NODE)?.metadata.annotations?.[ANNOTATION];
    return text === undefined ? undefined : JSON.parse(text);
  };

  it('writes annotation, labels and CSINode entry as the kubelet does, and owns a CSINode it makes', async () => {
    const node = server.addNode(NODE, { annotations: { other: 'kept' }, labels: { present: 'kept' } });
    const { publisher } = open();
    publisher.publish(info('b.csi', { count: 7, topology: zone('z1') }));
    await done(publisher);
    assert.deepEqual(node.metadata.annotations, { other: 'kept', [ANNOTATION]: '{"b.csi":"n1"}' });
    assert.deepEqual(node.metadata.labels, { present: 'kept', 'example.com/zone': 'z1' });
    assert.deepEqual(drivers(), [
      { name: 'b.csi', nodeID: 'n1', topologyKeys: ['example.com/zone'], allocatable: { count: 7 } },
    ]);
    const owner = { apiVersion: 'v1', kind: 'Node', name: NODE, uid: node.metadata.uid };
    assert.deepEqual(server.csiNode(NODE)?.metadata.ownerReferences, [owner]);
  });

  it('keeps every field of another driver, and takes back only its own', async () => {
    server.addNode(NODE, { annotations: { [ANNOTATION]: '{"other.csi":"o1","__proto__":"p"}' } });
    const other = {
      name: 'other.csi',
      nodeID: 'o1',
      topologyKeys: ['k'],
      allocatable: { count: 3 },
      future: { field: 1 },
    };
    server.addCsiNode(NODE, [other]);
    const { publisher } = open();
    publisher.publish(info('mine.csi'));
    await done(publisher);
    assert.deepEqual(drivers(), [other, { name: 'mine.csi', nodeID: 'n1', topologyKeys: [] }]);
    assert.equal(
      server.node(NODE)?.metadata.annotations?.[ANNOTATION],
      '{"__proto__":"p","mine.csi":"n1","other.csi":"o1"}',
    );
    publisher.unpublish('mine.csi');
    await done(publisher);
    assert.deepEqual(drivers(), [other]);
    assert.equal(server.node(NODE)?.metadata.annotations?.[ANNOTATION], '{"__proto__":"p","other.csi":"o1"}');
  });

  it('writes nothing when everything is as it should be', async () => {
    server.addNode(NODE, {
      annotations: { [ANNOTATION]: ' { "a.csi" : "n1" } ' },
      labels: { 'example.com/zone': 'z1' },
    });
    server.addCsiNode(NODE, [{ name: 'a.csi', nodeID: 'n1', topologyKeys: ['example.com/zone'] }]);
    const { publisher } = open();
    publisher.publish(info('a.csi', { topology: zone('z1') }));
    await done(publisher);
    assert.deepEqual(server.requests.filter(isWrite), []);
  });

  it('removes and adds an entry that changed, because the API server lets none be altered', async () => {
    server.addNode(NODE);
    server.addCsiNode(NODE, [{ name: 'a.csi', nodeID: 'old', topologyKeys: ['k'], allocatable: { count: 1 } }]);
    const { publisher } = open();
    publisher.publish(info('a.csi', { count: 2_147_483_647 }));
    await done(publisher);
    assert.deepEqual(drivers(), [
      { name: 'a.csi', nodeID: 'n1', topologyKeys: [], allocatable: { count: 2_147_483_647 } },
    ]);
  });

  it('replaces a CSINode that belonged to an earlier node of the same name', async () => {
    const node = server.addNode(NODE);
    server.addCsiNode(NODE, [{ name: 'stale.csi', nodeID: 's' }], {
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: NODE, uid: 'of-an-earlier-node' }],
    });
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    await done(publisher);
    assert.deepEqual(drivers(), [{ name: 'a.csi', nodeID: 'n1', topologyKeys: [] }]);
    assert.equal(server.csiNode(NODE)?.metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
  });

  it('fills the CSINode when only the Node has the driver, and the Node when only the CSINode has it', async () => {
    server.addNode(NODE, { annotations: { [ANNOTATION]: '{"a.csi":"n1"}' } });
    server.addCsiNode(NODE, [{ name: 'b.csi', nodeID: 'n1', topologyKeys: [] }]);
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    publisher.publish(info('b.csi'));
    await done(publisher);
    assert.deepEqual(ids(), { 'a.csi': 'n1', 'b.csi': 'n1' });
    assert.deepEqual((drivers() as NodeInfo[]).length, 2);
    publisher.unpublish('a.csi');
    publisher.unpublish('b.csi');
    await done(publisher);
    assert.equal(ids(), undefined);
    assert.deepEqual(drivers(), []);
  });

  it('leaves out a driver whose topology contradicts a label, publishes the others, and says so', async () => {
    server.addNode(NODE, { labels: { 'example.com/zone': 'z1' } });
    const { publisher } = open();
    publisher.publish(info('a.csi', { topology: zone('z2') }));
    publisher.publish(info('b.csi', { topology: zone('z1') }));
    await eventually('b is published', () => publisher.conditionOf('b.csi')?.state === 'published');
    assert.deepEqual(ids(), { 'b.csi': 'n1' });
    assert.deepEqual(publisher.conditionOf('a.csi'), {
      state: 'refused',
      message: 'CSI driver a.csi says example.com/zone=z2, but the node has the label example.com/zone=z1',
    });
    assert.equal(server.node(NODE)?.metadata.labels?.['example.com/zone'], 'z1');
  });

  it('lets no driver fill the node with labels that nobody takes away', async () => {
    server.addNode(NODE);
    const { target } = open();
    const segments = (round: number): NodeInfo['topology'] =>
      Array.from({ length: 32 }, (_, at) => ({ key: `r${String(round)}-${String(at)}-`.padEnd(60, 'x'), value: 'a' }));
    for (let round = 0; round < 40; round += 1) {
      const outcome = await target.apply(
        byName(info('a.csi', { topology: segments(round) }), info('b.csi', { topology: zone('z1') })),
        new Set(),
        never,
      );
      assert.deepEqual(outcome.ok ? [...outcome.conflicts.keys()] : outcome.message, round < 33 ? [] : ['a.csi']);
    }
    assert.ok(JSON.stringify(server.node(NODE)?.metadata.labels).length < 80_000);
    assert.equal(server.node(NODE)?.metadata.labels?.['example.com/zone'], 'z1');
  });

  it('says what is wrong with an annotation it cannot read, and leaves it alone', async () => {
    for (const text of ['not json', '["a"]', '{"a":1}', 'null']) {
      server.addNode(NODE, { annotations: { [ANNOTATION]: text } });
      const outcome = await open().target.apply(new Map([['a.csi', info('a.csi')]]), new Set(), never);
      assert.match(outcome.ok ? '' : outcome.message, /annotation .* is not a JSON object of node ids/);
      assert.equal(server.node(NODE)?.metadata.annotations?.[ANNOTATION], text);
    }
  });

  it('publishes once the node object appears', async () => {
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    await eventually('the problem is told', () => publisher.problem.includes('there is no node worker-1 yet'));
    server.addNode(NODE);
    await done(publisher);
    assert.deepEqual(ids(), { 'a.csi': 'n1' });
    assert.equal(publisher.problem, '');
  });

  const storms: [name: string, fault: Fault][] = [
    ['409s', { status: 409 }],
    ['429s', { status: 429, headers: { 'retry-after': '0' } }],
    ['500s', { status: 500 }],
    ['503s without a Status', { status: 503, message: '' }],
    ['cut connections', 'cut'],
    ['answers that are cut off after the write', 'cut-after'],
    ['calls that hang', 'hang'],
    ['404s', { status: 404 }],
  ];
  for (const [name, fault] of storms) {
    it(`publishes exactly once in the end through a storm of ${name}, and takes it back through another`, async () => {
      server.addNode(NODE);
      server.addCsiNode(NODE, [{ name: 'other.csi', nodeID: 'o' }]);
      const random = seededRandom(11);
      let left = 12;
      server.fault = () => (left > 0 && random.next() < 0.7 ? (left--, fault) : undefined);
      const { publisher } = open({ callMs: fault === 'hang' ? 60 : 10_000 });
      publisher.publish(info('a.csi', { topology: zone('z1') }));
      await done(publisher);
      assert.deepEqual(ids(), { 'a.csi': 'n1' });
      assert.deepEqual(drivers(), [
        { name: 'other.csi', nodeID: 'o' },
        { name: 'a.csi', nodeID: 'n1', topologyKeys: ['example.com/zone'] },
      ]);
      left = 12;
      publisher.unpublish('a.csi');
      await done(publisher);
      assert.equal(ids(), undefined);
      assert.deepEqual(drivers(), [{ name: 'other.csi', nodeID: 'o' }]);
    });
  }

  it('never overwrites what others change at the same time', async () => {
    server.addNode(NODE, { annotations: { [ANNOTATION]: '{}' } });
    server.addCsiNode(NODE, []);
    let round = 0;
    server.fault = (request) => {
      // Just before each of the first writes, another driver's publisher is faster.
      if (isWrite(request) && round < 8) {
        round += 1;
        const name = `other-${String(round)}.csi`;
        if (request.path.includes('csinodes'))
          server.touch(server.csiNode(NODE), ({ spec }) => spec?.drivers?.push({ name, nodeID: 'o' }));
        else {
          server.touch(server.node(NODE), ({ metadata }) => {
            const before = JSON.parse(metadata.annotations?.[ANNOTATION] ?? '{}') as Record<string, string>;
            metadata.annotations = { [ANNOTATION]: JSON.stringify({ ...before, [name]: 'o' }) };
          });
        }
      }
      return undefined;
    };
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    await done(publisher);
    const inNode = Object.keys(ids() as object).filter((name) => name.startsWith('other'));
    const inCsiNode = (drivers() as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => name.startsWith('other'));
    assert.equal(inNode.length + inCsiNode.length, 8);
    assert.ok(
      server.requests
        .filter(isWrite)
        .every(
          ({ body }) => (body as { metadata: { resourceVersion?: string } }).metadata.resourceVersion !== undefined,
        ),
    );
  });

  it('waits as long as the API server asks, in seconds or until a date', async () => {
    const { target } = open();
    const ask = async (header: string): Promise<number> => {
      server.fault = () => ({ status: 429, headers: { 'retry-after': header } });
      const outcome = await target.apply(new Map([['a.csi', info('a.csi')]]), new Set(), never);
      return outcome.ok ? -1 : (outcome.retryAfterMs ?? -1);
    };
    assert.equal(await ask('7'), 7000);
    assert.equal(await ask('86400'), 600_000);
    assert.equal(await ask('soon'), -1);
    const inAMinute = await ask(new Date(Date.now() + 60_000).toUTCString());
    assert.ok(inAMinute > 30_000 && inAMinute <= 60_000, String(inAMinute));
  });

  it('says once which rights are missing, and publishes when they are granted', async () => {
    server.addNode(NODE);
    let isForbidden = true;
    server.fault = ({ method }) =>
      isForbidden && method === 'PATCH' ? { status: 403, message: 'nodes "worker-1" is forbidden' } : undefined;
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    await eventually('several tries', () => server.requests.filter(({ method }) => method === 'PATCH').length > 3);
    assert.deepEqual(errors, [
      'the node facts of CSI drivers are not published: the API server forbids us to patch node worker-1 (403), grant get and patch of nodes, and get, create, patch and delete of csinodes: nodes "worker-1" is forbidden',
    ]);
    assert.equal(publisher.problem, errors[0]);
    isForbidden = false;
    await done(publisher);
    assert.equal(publisher.problem, '');
  });

  it('says in one sentence what it cannot reach', async () => {
    const { target } = open();
    kubeconfig = path.join(folder, 'missing');
    const unreadable = open().target;
    await server.close();
    const outcome = await target.apply(new Map([['a.csi', info('a.csi')]]), new Set(), never);
    assert.match(
      outcome.ok ? '' : outcome.message,
      /not published: the API server cannot be asked to get node worker-1: connect ECONNREFUSED/,
    );
    const second = await unreadable.apply(new Map([['a.csi', info('a.csi')]]), new Set(), never);
    assert.match(second.ok ? '' : second.message, /ENOENT.*missing/);
  });

  it('does not trust a server with another certificate', async () => {
    const stranger = new ApiServer();
    await stranger.listen();
    writeFileSync(kubeconfig, stranger.kubeconfig().replace(String(stranger.port), String(server.port)));
    await stranger.close();
    const outcome = await open().target.apply(new Map([['a.csi', info('a.csi')]]), new Set(), never);
    assert.match(outcome.ok ? '' : outcome.message, /self-signed|certificate|unable to verify/i);
    assert.deepEqual(server.requests, []);
  });

  it('reads a rotated token from the kubeconfig, or from the file it names', async () => {
    server.addNode(NODE);
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    await done(publisher);
    server.token = 'second-token';
    publisher.publish(info('b.csi'));
    await eventually('refused', () => publisher.problem.includes('does not accept our credentials'));
    writeFileSync(kubeconfig, server.kubeconfig());
    await done(publisher);
    writeFileSync(path.join(folder, 'token'), 'second-token');
    writeFileSync(kubeconfig, server.kubeconfig({ tokenFile: 'token' }));
    const { publisher: second } = open();
    second.publish(info('c.csi'));
    await done(second);
    server.token = 'third-token';
    writeFileSync(path.join(folder, 'token'), 'third-token');
    second.publish(info('d.csi'));
    await done(second);
    assert.deepEqual(ids(), { 'a.csi': 'n1', 'b.csi': 'n1', 'c.csi': 'n1', 'd.csi': 'n1' });
  });

  it('uses the service account of its pod, and a rotated token of it', async () => {
    server.addNode(NODE);
    const clusterRoot = path.join(folder, `pod-${String(server.port)}`);
    const account = path.join(clusterRoot, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(account, { recursive: true });
    writeFileSync(path.join(account, 'ca.crt'), server.tls.cert);
    writeFileSync(path.join(account, 'token'), server.token);
    const { publisher } = open({ clusterRoot });
    publisher.publish(info('a.csi'));
    await eventually('said', () => publisher.problem.includes('this process runs in no pod'));
    process.env['KUBERNETES_SERVICE_HOST'] = '127.0.0.1';
    process.env['KUBERNETES_SERVICE_PORT'] = String(server.port);
    await done(publisher);
    server.token = 'rotated';
    writeFileSync(path.join(account, 'token'), server.token);
    publisher.publish(info('b.csi'));
    await done(publisher);
    assert.deepEqual(ids(), { 'a.csi': 'n1', 'b.csi': 'n1' });
  });

  it('takes back after a restart what it published before it, and nothing of others', async () => {
    server.addNode(NODE);
    server.addCsiNode(NODE, [{ name: 'other.csi', nodeID: 'o' }]);
    const ledger = path.join(folder, 'ledger');
    const first = open({ ledger });
    first.publisher.publish(info('kept.csi'));
    first.publisher.publish(info('gone.csi'));
    await done(first.publisher);
    await first.publisher.stop();
    const second = open({ ledger });
    second.publisher.publish(info('kept.csi'));
    second.publisher.settle(0);
    await eventually('one is left', () => (drivers() as unknown[]).length === 2);
    await done(second.publisher);
    assert.deepEqual(
      (drivers() as { name: string }[]).map(({ name }) => name),
      ['other.csi', 'kept.csi'],
    );
    assert.deepEqual(JSON.parse(readFileSync(ledger, 'utf8')), { format: 1, nodeName: NODE, drivers: ['kept.csi'] });
    writeFileSync(ledger, '{"damaged');
    assert.deepEqual(await open({ ledger }).target.known(), []);
    writeFileSync(ledger, '{"format":1,"nodeName":"another","drivers":["x"]}');
    assert.deepEqual(await open({ ledger }).target.known(), []);
  });

  it('publishes although the ledger cannot be written', async () => {
    server.addNode(NODE);
    const { publisher } = open({ ledger: path.join(folder, 'no', 'such', 'folder') });
    publisher.publish(info('a.csi'));
    await done(publisher);
    assert.deepEqual(ids(), { 'a.csi': 'n1' });
  });

  it('stops at once, also in the middle of a call', async () => {
    server.fault = () => 'hang';
    const { publisher } = open();
    publisher.publish(info('a.csi'));
    await eventually('it asks', () => server.requests.length > 0);
    await publisher.stop();
  });
});
