// The built daemon publishes to an API server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ApiServer } from '../../support/api-server.js';
import { eventually } from '../../support/eventually.js';
import { run, start, type Running } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const NODE = 'worker-1';
const DRIVER = 'csi.sim.example.com';

describe('the daemon with csi.publish: kubernetes', () => {
  let server: ApiServer;
  let root: string;
  let running: Running[];

  beforeEach(async () => {
    running = [];
    root = tempDir();
    server = new ApiServer();
    await server.listen();
    writeFileSync(path.join(root, 'kubeconfig'), server.kubeconfig());
    const csi = `csi: {publish: kubernetes, nodeName: ${NODE}, kubeconfig: ${path.join(root, 'kubeconfig')}}`;
    writeFileSync(path.join(root, 'config.yaml'), `http: {listen: off}\nrestart: {deadline: 500ms}\n${csi}\n`);
  });
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
    await server.close();
  });

  async function launch(what: string, ...args: string[]): Promise<Running> {
    const program = start([...args, '--root', root]);
    running.push(program);
    await eventually(what, () => (program.stderr() + program.stdout()).includes(what));
    return program;
  }
  const broker = (): Promise<Running> =>
    launch('"broker.started"', 'serve', '--config', path.join(root, 'config.yaml'));
  const isPublished = (): boolean => server.csiNode(NODE)?.spec?.drivers?.[0]?.name === DRIVER;

  it('registers a driver while the node object is missing, says so, and publishes when it is there', async () => {
    await broker();
    const driver = await launch('"registered":true', 'sim', 'csi', '--register', '--topology=zone=z1');
    await eventually('explain says so', async () => {
      const { stdout } = await run(['explain', DRIVER, '--root', root]);
      return stdout.includes('publish-pending') && stdout.includes(`there is no node ${NODE} yet`);
    });
    server.addNode(NODE);
    await eventually('published', isPublished);
    assert.equal(server.node(NODE)?.metadata.labels?.['zone'], 'z1');
    driver.child.kill('SIGTERM');
    await eventually('taken back', () => !isPublished());
  });

  it('takes back, after a kill -9, a driver that went while it was away', async () => {
    server.addNode(NODE);
    const before = await broker();
    const driver = await launch('"registered":true', 'sim', 'csi', '--register');
    await eventually('published', isPublished);
    before.child.kill('SIGKILL');
    driver.child.kill('SIGTERM');
    await Promise.all([before.ended, driver.ended]);
    assert.equal(isPublished(), true);
    await broker();
    await eventually('taken back', () => !isPublished());
  });
});
