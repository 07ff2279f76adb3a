// Drivers that the API server does not take keep no others from being published, nor from being taken back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import { ApiClient } from '../../../src/platform/kubernetes/api-client.js';
import { ApiTarget } from '../../../src/platform/kubernetes/api-target.js';
import { Ledger } from '../../../src/platform/kubernetes/ledger.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { ApiServer, type SeenRequest } from '../../support/api-server.js';
import { silentLog } from '../../support/silence.js';
import { byName, info } from '../../support/node-infos.js';
import { tempDir } from '../../support/temp-dir.js';

const NODE = 'worker-1';
const ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const never = new AbortController().signal;

const isWrite = ({ method }: SeenRequest): boolean => method !== 'GET';
/** The API server takes no label of this prefix. */
const FORBIDDEN = [{ key: 'node-restriction.kubernetes.io/a', value: 'b' }];
const forbids = ({ path: at, body }: SeenRequest): { status: number } | undefined =>
  at.includes('/nodes/') && JSON.stringify(body ?? {}).includes('node-restriction') ? { status: 403 } : undefined;

describe('an API server that refuses drivers', () => {
  let server: ApiServer;
  let folder: string;

  beforeEach(async () => {
    folder = tempDir();
    server = new ApiServer();
    await server.listen();
    writeFileSync(path.join(folder, 'kubeconfig'), server.kubeconfig());
  });
  afterEach(() => server.close());

  function open(): { target: ApiTarget } {
    const client = new ApiClient({ kubeconfig: path.join(folder, 'kubeconfig'), clock: systemClock });
    const ledger = new Ledger(path.join(folder, 'ledger'), NODE);
    return { target: new ApiTarget({ client, ledger, nodeName: NODE, clock: systemClock, log: silentLog }) };
  }

  const drivers = (): unknown => server.csiNode(NODE)?.spec?.drivers;
  const ids = (): unknown => JSON.parse(server.node(NODE)?.metadata.annotations?.[ANNOTATION] ?? '{}');

  it('publishes the others when annotations would become too large, also one whose entry changes', async () => {
    server.addNode(NODE);
    server.addCsiNode(NODE, [{ name: 'root.csi', nodeID: 'n1', topologyKeys: [], allocatable: { count: 1 } }]);
    server.fault = ({ body }) => {
      const text = (body as { metadata?: { annotations?: Record<string, string> } } | undefined)?.metadata
        ?.annotations?.[ANNOTATION];
      return (text?.length ?? 0) > 262_144 ? { status: 422, message: 'metadata.annotations: Too long' } : undefined;
    };
    const many = Array.from({ length: 180 }, (_, at) => info(`${String(at)}.csi`, { nodeId: '\u0001'.repeat(256) }));
    const wanted = byName(...many, info('root.csi', { count: 2 }));
    const { target } = open();
    const outcome = await target.apply(wanted, new Set(), never);
    assert.ok(outcome.ok, outcome.ok ? '' : outcome.message);
    assert.deepEqual(
      (drivers() as { name: string }[]).filter(({ name }) => name === 'root.csi'),
      [{ name: 'root.csi', nodeID: 'n1', topologyKeys: [], allocatable: { count: 2 } }],
    );
    const refused = [...outcome.conflicts.keys()];
    assert.ok(refused.length > 0 && refused.length < 30 && !refused.includes('root.csi'), refused.join(' '));
    server.requests.length = 0;
    assert.deepEqual(await target.apply(wanted, new Set(), never), outcome);
    assert.deepEqual(server.requests.filter(isWrite), [], 'those that are refused are left alone for a while');
  });

  it('publishes the others when one label is forbidden, and takes back what is not wanted', async () => {
    server.addNode(NODE);
    server.addCsiNode(NODE, [{ name: 'gone.csi', nodeID: 'n1', topologyKeys: [] }]);
    server.fault = ({ path: at, body }) =>
      at.includes('/nodes/') && JSON.stringify(body ?? {}).includes('node-restriction') ? { status: 403 } : undefined;
    const bad = info('bad.csi', { topology: [{ key: 'node-restriction.kubernetes.io/a', value: 'b' }] });
    const outcome = await open().target.apply(byName(info('a.csi'), bad, info('b.csi')), new Set(['gone.csi']), never);
    assert.deepEqual(outcome.ok ? [...outcome.conflicts.keys()] : outcome.message, ['bad.csi']);
    assert.deepEqual(ids(), { 'a.csi': 'n1', 'b.csi': 'n1' });
    assert.deepEqual((drivers() as { name: string }[]).map(({ name }) => name).sort(), ['a.csi', 'b.csi']);
  });

  it('tells a right that is missing for all drivers as a failure, not as one of each', async () => {
    server.addNode(NODE);
    server.fault = ({ method }) => (method === 'PATCH' ? { status: 403 } : undefined);
    const outcome = await open().target.apply(byName(info('a.csi'), info('b.csi')), new Set(), never);
    assert.match(outcome.ok ? '' : outcome.message, /forbids us to patch node worker-1/);
  });

  it('leaves a driver in CSINode whose new facts it refuses, also where it is the only one', async () => {
    server.addNode(NODE);
    server.fault = forbids;
    const { target } = open();
    const works = [{ name: 'a.csi', nodeID: 'n1', topologyKeys: [] }];
    for (const others of [[], [info('b.csi')]]) {
      server.addCsiNode(NODE, works);
      const changed = info('a.csi', { nodeId: 'n2', topology: FORBIDDEN });
      await target.apply(byName(changed, ...others), new Set(), never);
      assert.deepEqual((drivers() as { name: string }[]).slice(0, 1), works);
    }
  });

  it('takes a driver back although the only other one is refused', async () => {
    server.addNode(NODE);
    const { target } = open();
    await target.apply(byName(info('gone.csi')), new Set(), never);
    server.fault = forbids;
    await target.apply(byName(info('bad.csi', { topology: FORBIDDEN })), new Set(['gone.csi']), never);
    assert.deepEqual([ids(), drivers()], [{}, []]);
  });

  it('is asked once where it lets nobody read', async () => {
    server.addNode(NODE);
    server.fault = () => ({ status: 403 });
    const outcome = await open().target.apply(byName(info('a.csi'), info('b.csi')), new Set(['c.csi']), never);
    assert.match(outcome.ok ? '' : outcome.message, /forbids us to get node worker-1/);
    assert.equal(server.requests.length, 1);
  });

  it('is not asked again at once about a driver that says something else, while another one changes', async () => {
    server.addNode(NODE);
    server.fault = forbids;
    const { target } = open();
    const bad = (value: string): NodeInfo =>
      info('bad.csi', { topology: [{ key: 'node-restriction.kubernetes.io/a', value }] });
    await target.apply(byName(info('a.csi'), bad('1')), new Set(), never);
    server.requests.length = 0;
    const outcome = await target.apply(byName(info('a.csi', { nodeId: 'n2' }), bad('2')), new Set(), never);
    assert.deepEqual(outcome.ok ? [...outcome.conflicts.keys()] : outcome.message, ['bad.csi']);
    assert.deepEqual(ids(), { 'a.csi': 'n2' });
    assert.equal(server.requests.filter((request) => forbids(request) !== undefined).length, 0);
  });
});
