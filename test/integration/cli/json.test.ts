import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { brokerEvent, FakeAdminPort, limitView, pluginView, resourceView } from '../../support/fake-admin-port.js';
import { runHere } from '../../support/captured-terminal.js';
import { run } from '../../support/program.js';
import { serveAdmin, type ServedAdminApi } from '../../support/served-admin.js';
import { tempDir } from '../../support/temp-dir.js';

const root = tempDir();
const port = new FakeAdminPort();
port.pluginList = [pluginView(), pluginView({ type: 'CSIPlugin', name: '__proto__', uid: -1, pid: -1, resource: '' })];
port.resourceList = [resourceView()];
port.limitList = [limitView()];
port.eventList = [
  brokerEvent(),
  brokerEvent({ seq: 2, type: 'refused', reason: 'NO_LISTENER', message: 'line\nbreak \u009b2J' }),
];
let served: ServedAdminApi;

async function json(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runHere([...args, '-o', 'json', '--root', root]);
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout);
}

describe('-o json', () => {
  before(async () => {
    served = await serveAdmin(path.join(root, 'broker.sock'), port);
  });
  after(() => served.cut());

  it('of status has exactly the fields of the contract, in their order', async () => {
    const status = await json('status');
    const whole = { ...port.status(), resources: port.resourceList };
    assert.deepEqual(status, JSON.parse(JSON.stringify(whole)));
    assert.equal(JSON.stringify(status), JSON.stringify(whole));
  });

  it('of plugins is a list with one item for each incarnation', async () => {
    assert.equal(JSON.stringify(await json('plugins')), JSON.stringify(port.pluginList));
    assert.deepEqual(await json('plugins', 'example.com/gpu'), [pluginView()]);
  });

  it('of resources has the devices', async () => {
    assert.equal(JSON.stringify(await json('resources')), JSON.stringify(port.resourceList));
  });

  it('of limits has every bucket', async () => {
    assert.equal(JSON.stringify(await json('limits', 'example.com/gpu')), JSON.stringify(port.limitList));
  });

  it('of events is one object a line, with any sentences', async () => {
    const { stdout } = await runHere(['events', '-o', 'json', '--root', root]);
    const lines = stdout.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      port.eventList,
    );
    assert.deepEqual(Object.keys(JSON.parse(lines[0] ?? '') as object), [
      'time',
      'seq',
      'type',
      'reason',
      'plugin',
      'socket',
      'message',
    ]);
    assert.doesNotMatch(stdout, /\u009b/);
  });

  it('of explain has state, why, remedy, incarnations and timeline', async () => {
    const view = (await json('explain', 'example.com/gpu')) as { events: unknown; plugins: unknown };
    assert.deepEqual(Object.keys(view), ['subject', 'state', 'reason', 'why', 'remedy', 'plugins', 'events']);
    assert.deepEqual([view.plugins, view.events], [[pluginView()], port.eventList]);
  });
});

describe('tables', () => {
  before(async () => {
    served = await serveAdmin(path.join(root, 'broker.sock'), port);
  });
  after(() => served.cut());

  it('have no colours in a pipe', async () => {
    for (const command of ['status', 'events']) {
      const { code, stdout } = await run([command, '--root', root], { FORCE_COLOR: '1' });
      assert.equal(code, 0, command);
      assert.doesNotMatch(stdout, /\u001b/, command);
      assert.notEqual(stdout, '');
    }
  });

  it('show the devices of one resource', async () => {
    const { stdout } = await runHere(['resources', 'example.com/gpu', '--root', root]);
    assert.match(stdout, /^DEVICE +HEALTH +NUMA\ngpu-0 +Healthy +0\ngpu-1 +Unhealthy\n$/m);
  });
});
