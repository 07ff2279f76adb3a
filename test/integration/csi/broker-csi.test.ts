import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { CsiHandler } from '../../../src/csi/csi-handler.js';
import { NodeInfoPublisher } from '../../../src/csi/node-info-publisher.js';
import { DraHandler } from '../../../src/dra/dra-handler.js';
import { silentLog } from '../../support/silence.js';
import type { PluginView } from '../../../src/model/views.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { csiNodeClients } from '../../../src/platform/grpc/csi-node-client.js';
import { draConnections } from '../../../src/platform/grpc/dra-connection.js';
import { FileTarget } from '../../../src/platform/kubernetes/file-target.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { systemRandom } from '../../../src/platform/time/system-random.js';
import type { CsiSimOptions } from '../../../src/sim/csi/options.js';
import { runCsiSim } from '../../../src/sim/csi/run-csi-sim.js';
import type { DraSimOptions } from '../../../src/sim/dra/options.js';
import { runDraSim } from '../../../src/sim/dra/run-dra-sim.js';
import { guarding } from '../../support/guarding.js';
import { parseFault } from '../../support/csi-faults.js';
import { eventually } from '../../support/eventually.js';
import { RunningDriver } from '../../support/running-driver.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';
import { RunningRegistrar } from '../registrar/rig.js';
import { csiSimOptions, draSimOptions } from '../../support/sim-options.js';

const DRIVER = 'csi.sim.example.com';
const NODE_GET_INFO_MS = 1000;

describe('CSI and DRA drivers at a broker', () => {
  let root: string;
  let file: string;
  let broker: TestBroker;
  let publisher: NodeInfoPublisher;
  let csi: CsiHandler;
  let dra: DraHandler;
  let stops: (() => Promise<unknown>)[];
  let alive: NodeJS.Timeout;

  beforeEach(async () => {
    alive = setInterval(() => undefined, 1000);
    root = tempDir();
    for (const name of ['device-plugins', 'plugins_registry', 'plugins', 'state']) mkdirSync(path.join(root, name));
    file = path.join(root, 'state', 'csinode.json');
    stops = [];
    const ports = { clock: systemClock, random: systemRandom };
    const target = new FileTarget({ file, nodeName: 'worker-1', clock: systemClock });
    publisher = new NodeInfoPublisher({ ...ports, target, log: silentLog });
    const openClient = csiNodeClients({ ...ports, pin: pinSocket, guarding });
    csi = new CsiHandler({ ...ports, publisher, openClient, nodeGetInfoMs: NODE_GET_INFO_MS });
    dra = new DraHandler({
      clock: systemClock,
      openConnection: draConnections({ ...ports, pin: pinSocket, guarding }),
    });
    broker = await startTestBroker(root, undefined, { handlers: [csi, dra] }, (policy) => ({ ...policy, graceMs: 0 }));
  });
  afterEach(async () => {
    clearInterval(alive);
    for (const stop of stops.reverse()) await stop();
    await broker.stop();
    await csi.stop();
    dra.stop();
  });

  const registry = (): string => path.join(root, 'plugins_registry');
  const places = (): { plugins: string; registry: string } => ({
    plugins: path.join(root, 'plugins'),
    registry: registry(),
  });

  async function csiDriver(given: Partial<CsiSimOptions> = {}): Promise<RunningDriver> {
    const options = csiSimOptions({ ...places(), register: true, ...given });
    const driver = new RunningDriver((signal, around) => runCsiSim(options, signal, around));
    stops.push(() => driver.stop());
    await driver.saw('serving', options.register ? 2 : 1);
    return driver;
  }

  async function draDriver(given: Partial<DraSimOptions> = {}): Promise<RunningDriver> {
    const driver = new RunningDriver((signal, around) =>
      runDraSim(draSimOptions({ ...places(), ...given }), signal, around),
    );
    stops.push(() => driver.stop());
    await driver.saw('serving', given.serveDelay === undefined ? 2 : 1);
    return driver;
  }

  function registrar(
    endpoint = path.join(root, 'plugins', DRIVER, 'csi.sock'),
    directory = registry(),
  ): RunningRegistrar {
    const running = new RunningRegistrar([
      `--csi-address=${path.join(root, 'plugins', DRIVER, 'csi.sock')}`,
      `--kubelet-registration-path=${endpoint}`,
      `--plugin-registration-path=${directory}`,
    ]);
    stops.push(() => running.stop());
    return running;
  }

  const view = (name = DRIVER): PluginView | undefined =>
    broker.plugins().find((one) => one.name === name && one.primary);
  const published = (): { name: string; nodeID: string }[] => {
    const { items } = JSON.parse(readFileSync(file, 'utf8')) as { items: [object, { spec: { drivers: [] } }] };
    return items[1].spec.drivers;
  };
  const isPublishedAs =
    (...ids: string[]) =>
    (): boolean =>
      JSON.stringify(published().map(({ nodeID }) => nodeID)) === JSON.stringify(ids);
  const reasons = (): string[] => broker.events.map(({ reason }) => reason ?? '').filter((reason) => reason !== '');

  it('registers a driver with our registrar, publishes it, and tells it so', async () => {
    await csiDriver({ register: false, topology: { zone: 'a' } });
    const running = registrar();
    await running.says('registered=true');
    assert.deepEqual([view()?.state, view()?.type, view()?.apiVersion], ['ready', 'CSIPlugin', '1.0.0']);
    await eventually('published', isPublishedAs('sim-node'));
    await running.stop();
    await eventually('taken back', isPublishedAs());
    await eventually('gone', () => view() === undefined || view()?.state === 'gone');
  });

  it('replaces the registration by that of an upgraded driver, also under the same name and version', async () => {
    const old = await csiDriver({ nodeId: 'old' });
    await eventually('published', isPublishedAs('old'));
    await csiDriver({
      nodeId: 'new',
      socket: path.join(root, 'plugins', 'csi-2.sock'),
      registry: path.join(registry(), 'second'),
    });
    await eventually('published', isPublishedAs('new'));
    await old.stop();
    await eventually(
      'the old one is gone',
      () => !broker.plugins().some((one) => one.state === 'ready' && !one.primary),
    );
    assert.equal(isPublishedAs('new')(), true);
  });

  it('is taken over at once by the older registrar of the same service socket, and stays published meanwhile', async () => {
    await csiDriver({ register: false });
    const old = registrar();
    await old.says('registered=true');
    await eventually('published', isPublishedAs('sim-node'));
    const second = path.join(registry(), 'second');
    mkdirSync(second);
    const young = registrar(undefined, second);
    await young.says('registered=true');
    await eventually('the newer one serves', () => view()?.socket.startsWith(second));
    const unpublish = mock.method(publisher, 'unpublish');
    await young.stop();
    await eventually('the older one serves', () => view()?.state === 'ready' && !view()?.socket.startsWith(second));
    assert.equal(unpublish.mock.callCount(), 0);
    assert.equal(isPublishedAs('sim-node')(), true);
    await old.stop();
    await eventually('taken back', isPublishedAs());
  });

  it('leaves the working registration alone when an upgrade fails', async () => {
    await csiDriver({ nodeId: 'old' });
    await eventually('published', isPublishedAs('old'));
    const upgrade = await csiDriver({
      socket: path.join(root, 'plugins', 'csi-2.sock'),
      registry: path.join(registry(), 'second'),
      fault: parseFault('NodeGetInfo=status:INTERNAL:broken', []),
    });
    assert.match(String((await upgrade.saw('notified'))['error']), /NodeGetInfo failed with INTERNAL: broken/);
    assert.equal(isPublishedAs('old')(), true);
    assert.equal(view()?.state, 'ready');
  });

  it('holds a driver whose service is away, keeps it published, and is ready when it is back', async () => {
    const service = await csiDriver({ register: false });
    const running = registrar();
    await running.says('registered=true');
    await eventually('published', isPublishedAs('sim-node'));
    await service.stop();
    await eventually('held', () => view()?.state === 'held' && view()?.reason === 'service-lost');
    await csiDriver({ register: false, nodeId: 'moved' });
    await eventually('ready', () => view()?.state === 'ready');
    await eventually('published anew', isPublishedAs('moved'));
  });

  const refusals: [what: string, given: Partial<CsiSimOptions>, code: string][] = [
    ['a type nobody serves', { pluginType: 'NotAPlugin' }, 'TYPE_UNKNOWN'],
    ['a version nobody supports', { apiVersion: '0.3.0,2.0.0' }, 'VERSION_UNSUPPORTED'],
    ['no version', { apiVersion: '' }, 'VERSION_UNSUPPORTED'],
    ['an endpoint outside the roots', { socket: path.join(tempDir(), 'csi.sock') }, 'ENDPOINT_OUTSIDE'],
    ['an endpoint that is not there', { speak: 'dead', endpoint: 'PLUGINS/none.sock' }, 'ENDPOINT_MISSING'],
    ['a dead service socket', { speak: 'dead' }, 'NO_LISTENER'],
    ['something else than gRPC', { speak: 'http1' }, 'NOT_GRPC'],
    ['a NodeGetInfo that fails', { fault: parseFault('NodeGetInfo=status:INTERNAL', []) }, 'NODE_INFO_FAILED'],
    ['a NodeGetInfo that hangs', { fault: parseFault('NodeGetInfo=never', []) }, 'NO_ANSWER'],
    ['a NodeGetInfo that is not served', { fault: parseFault('NodeGetInfo=status:UNIMPLEMENTED', []) }, 'NOT_SERVED'],
    ['undecodable bytes', { fault: parseFault('NodeGetInfo=garbage', []) }, 'NODE_INFO_INVALID'],
    ['an empty node id', { nodeId: '' }, 'NODE_ID_EMPTY'],
    ['an over-long node id', { nodeIdBytes: 257 }, 'NODE_ID_TOO_LONG'],
    ['a topology that no label can hold', { topology: { zone: 'not a label' } }, 'NODE_INFO_INVALID'],
  ];
  for (const [what, given, code] of refusals) {
    it(`refuses ${what} with ${code}, and says so on the wire and in the events`, async () => {
      const endpoint = given.endpoint?.replace('PLUGINS', path.join(root, 'plugins'));
      const driver = await csiDriver({ ...given, ...(endpoint === undefined ? {} : { endpoint }) });
      const { registered, error } = await driver.saw('notified');
      assert.equal(registered, false);
      assert.notEqual(error, '');
      assert.ok(reasons().includes(code), `${code} is none of ${reasons().join(' ')}`);
    });
  }

  it('keeps both endpoints of a rolling update, and follows their connections', async () => {
    const name = 'dra.sim.example.com';
    const old = await draDriver({ instance: 'old' });
    assert.equal((await old.saw('notified'))['registered'], true);
    const next = await draDriver({ instance: 'new' });
    assert.equal((await next.saw('notified'))['registered'], true);
    const states = (): string[] =>
      broker
        .plugins()
        .filter((one) => one.name === name)
        .map(({ state }) => state);
    const living = (): number => states().filter((state) => state === 'ready').length;
    await eventually('both are ready', () => living() === 2);
    await old.stop();
    await eventually('one is left', () => living() === 1);
    assert.equal(view(name)?.state, 'ready');
    rmSync(path.join(root, 'plugins', name, 'dra-new.sock'));
    await next.stop();
    await eventually('none is left', () => living() === 0);
  });

  it('registers a DRA driver whose service comes up later, and holds it meanwhile', async () => {
    const name = 'dra.sim.example.com';
    const driver = await draDriver({ speak: 'dead' });
    assert.equal((await driver.saw('notified'))['registered'], true);
    await eventually('held', () => view(name)?.state === 'held' && view(name)?.reason === 'service-lost');
  });

  it('refuses a DRA driver without a supported service', async () => {
    const driver = await draDriver({ services: 'v1alpha3.NodeService' });
    const { registered, error } = await driver.saw('notified');
    assert.equal(registered, false);
    assert.match(String(error), /offered services \["v1alpha3\.NodeService"\] are not supported/);
  });
});
