import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Child, type Program } from '../support/child.js';
import { distFile } from '../support/dist.js';
import { eventually } from '../support/eventually.js';
import { tempDir } from '../support/temp-dir.js';
import { Broker } from './support/broker.js';
import { buildGo, python, type GoPrograms } from './support/programs.js';
import { missing } from './support/tools.js';

const NAME = 'csi.example.com';

interface PluginJson {
  readonly type: string;
  readonly name: string;
  readonly state: string;
  readonly apiVersion: string;
}

/** The registrar under both of its names. */
const REGISTRARS: readonly { readonly called: string; readonly program: Program }[] = [
  { called: 'plugin-broker registrar', program: program(distFile(), 'registrar') },
  { called: 'csi-node-driver-registrar', program: program(distFile('csi-node-driver-registrar.cjs')) },
];

function program(...args: readonly string[]): Program {
  return { command: process.execPath, args, env: {} };
}

/** A Python driver that serves in `folder`. */
async function driverIn(folder: string): Promise<Child> {
  mkdirSync(folder, { recursive: true });
  const driver = new Child(python('csi_driver.py'), [
    ...['--socket', path.join(folder, 'csi.sock'), '--name', NAME, '--node-id', 'node-of-python', '--max-volumes', '7'],
    ...['--topology', 'topology.example.com/zone=z1'],
  ]);
  await driver.says('serving');
  return driver;
}

/** Our registrar for the driver in `folder`, with its registration socket in `registry`. */
async function registrarFor(folder: string, registry: string, called: Program): Promise<Child> {
  const socket = path.join(folder, 'csi.sock');
  const registrar = new Child(called, [
    ...[`--csi-address=${socket}`, `--kubelet-registration-path=${socket}`, `--plugin-registration-path=${registry}`],
  ]);
  await eventually('the registration socket', () =>
    existsSync(path.join(registry, `${NAME}-reg.sock`)) ? true : false,
  ).catch((error: unknown) => {
    throw new Error(registrar.story, { cause: error });
  });
  return registrar;
}

describe('a Python CSI driver behind our registrar', { skip: missing('python') }, () => {
  let broker: Broker;
  before(async () => {
    broker = await Broker.start();
  });
  after(async () => {
    assert.equal(await broker.stop(), 0);
  });

  const driverIs = (state: string): Promise<true> =>
    eventually(
      `the driver is ${state}`,
      async () => {
        const plugins = (await broker.ask('plugins')) as readonly PluginJson[];
        const found = plugins.find(({ type, name }) => type === 'CSIPlugin' && name === NAME);
        return found?.state === state ? true : false;
      },
      { everyMs: 50 },
    ).catch((error: unknown) => {
      throw new Error(broker.story, { cause: error });
    });
  const published = (): string => readFileSync(path.join(broker.root, 'state', 'csinode.json'), 'utf8');

  for (const { called, program: registrarProgram } of REGISTRARS) {
    it(`called as ${called} is registered, published, and withdrawn when the registrar ends`, async () => {
      const folder = path.join(broker.root, 'plugins', NAME);
      const driver = await driverIn(folder);
      const registrar = await registrarFor(folder, broker.registry, registrarProgram);
      try {
        await driverIs('ready');
        await eventually('the node facts are published', () => published().includes('node-of-python'));
        for (const fact of ['topology.example.com/zone', '7', NAME]) assert.ok(published().includes(fact), published());
        assert.ok(driver.lines.includes('asked for its node'));

        assert.equal(await registrar.stop(), 0, registrar.story);
        await eventually('the node facts are withdrawn', () => !published().includes('node-of-python'));
      } finally {
        await registrar.stop();
        await driver.stop();
      }
    });
  }
});

describe('our registrar, asked by a Go client', { skip: missing('go', 'python') }, () => {
  let go: GoPrograms;
  let driver: Child;
  const folder = tempDir();
  const registry = tempDir();
  before(async () => {
    go = buildGo();
    driver = await driverIn(folder);
  });
  after(async () => {
    await driver.stop();
  });

  for (const style of ['bare', 'passthrough', 'unix', 'unix-slashes', 'authority']) {
    it(`that dials in the style ${style} says who the driver is and hears how it went`, async () => {
      const registrar = await registrarFor(folder, registry, program(distFile('csi-node-driver-registrar.cjs')));
      const kubelet = new Child(go.kubelet, ['--dial', style, '--socket', path.join(registry, `${NAME}-reg.sock`)]);
      try {
        assert.equal(await kubelet.end(), 0, `${kubelet.story}\n${registrar.story}`);
        assert.deepEqual(kubelet.lines, [`CSIPlugin ${NAME} ${path.join(folder, 'csi.sock')} 1.0.0`, 'notified']);
      } finally {
        assert.equal(await registrar.stop(), 0, registrar.story);
      }
    });
  }

  it('ends with 1 when it hears that the driver is refused', async () => {
    const registrar = await registrarFor(folder, registry, program(distFile('csi-node-driver-registrar.cjs')));
    const kubelet = new Child(go.kubelet, [
      ...['--socket', path.join(registry, `${NAME}-reg.sock`), '--refuse', 'not wanted here'],
    ]);
    await kubelet.end();
    assert.equal(await registrar.end(), 1, registrar.story);
    assert.match(registrar.story, /not wanted here/);
  });
});
