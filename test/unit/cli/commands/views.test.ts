import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explanation } from '../../../../src/cli/commands/explain.js';
import { limitTable } from '../../../../src/cli/commands/limits.js';
import { pluginTable } from '../../../../src/cli/commands/plugins.js';
import { deviceTable, resourceTable } from '../../../../src/cli/commands/resources.js';
import { statusSummary } from '../../../../src/cli/commands/status.js';
import { eventLine } from '../../../../src/cli/output/event-line.js';
import { painter } from '../../../../src/cli/output/tones.js';
import { brokerEvent, FakeAdminPort, limitView, pluginView, resourceView } from '../../../support/fake-admin-port.js';

const plain = painter(false);
const now = Date.parse('2030-01-01T00:01:30Z');
const lines = (text: string): readonly string[] => text.trimEnd().split('\n');

describe('the output of commands for people', () => {
  it('is a line for each incarnation of a plugin', () => {
    const held = pluginView({ primary: false, state: 'held', reason: 'connection-lost', uid: -1, pid: -1 });
    assert.deepEqual(lines(pluginTable([pluginView(), held], now, plain, true)), [
      'NAME             STATE  REASON           FOR    TYPE          ROLE     STRIKES  REGISTERED  REFUSED  UID   PID   SOCKET',
      'example.com/gpu  ready  registered       1m30s  DevicePlugin  primary        0           1        0  1000  4242  /run/pb/device-plugins/gpu.sock',
      'example.com/gpu  held   connection-lost  1m30s  DevicePlugin  other          0           1        0  -     -     /run/pb/device-plugins/gpu.sock',
    ]);
  });

  it('is a line for each resource', () => {
    assert.deepEqual(lines(resourceTable([resourceView()], plain)), [
      'NAME             STATE  CAPACITY  ALLOCATABLE  ALLOCATED  PLUGIN',
      'example.com/gpu  ready         2            1          0  DevicePlugin/example.com/gpu',
    ]);
  });

  it('is a line for each device, with who has it where somebody has one', () => {
    const [first, second] = resourceView().devices;
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(lines(deviceTable([first, second], plain))[0], 'DEVICE  HEALTH     NUMA');
    const taken = { ...first, owner: 'systemd/worker.service', lease: '01k9r4e7' };
    assert.deepEqual(
      lines(deviceTable([taken, second], plain)).map((line) => line.trimEnd().split(/ {2,}/)),
      [
        ['DEVICE', 'HEALTH', 'NUMA', 'OWNER', 'LEASE'],
        [first.id, first.health, ...first.numaNodes.map(String), 'systemd/worker.service', '01k9r4e7'],
        [second.id, second.health, ...second.numaNodes.map(String)],
      ],
    );
  });

  it('is a line for each limit', () => {
    const quarantined = limitView({
      permits: 0,
      strikes: 10,
      quarantinedUntil: '2030-01-01T00:02:00Z',
      exceeded: 20,
      slowing: 'quarantined',
    });
    assert.deepEqual(
      lines(limitTable([limitView({ plugin: '', limit: 'global.register', uid: -1 }), quarantined], now, plain, true)),
      [
        'LIMIT            PLUGIN                        NOW          QUARANTINE  SET BY  STRIKES  EXCEEDED  PERMITS  MODE     EVERY  NEXT  UID',
        'global.register  (all)                         -            -           flood         0         0  4/5      enforce  2s     1s    -',
        'register         DevicePlugin/example.com/gpu  quarantined  30s         flood        10        20  0/5      enforce  2s     1s    1000',
      ],
    );
  });

  it('names the owner of a limit that belongs to no plugin', () => {
    const shared = [limitView({ plugin: '' }), limitView({ plugin: '', limit: 'connections' })];
    const owners = lines(limitTable(shared, now, plain, true)).map((line) => line.split(/ {2,}/)[1]);
    assert.deepEqual(owners, ['PLUGIN', '(invalid names)', '(any)']);
  });

  it('tells the limits of several users of one name apart', () => {
    const rows = [limitView({ uid: 0 }), limitView({ uid: 4001 }), limitView({ plugin: 'DevicePlugin/b', uid: 0 })];
    const owners = lines(limitTable(rows, now, plain)).map((line) => line.split(/ {2,}/)[1]);
    const name = rows[0]?.plugin ?? '';
    assert.deepEqual(owners, ['PLUGIN', `${name} (uid 0)`, `${name} (uid 4001)`, 'DevicePlugin/b']);
  });

  it('is a word instead of an empty table', () => {
    assert.deepEqual(
      [pluginTable([], now, plain), resourceTable([], plain), limitTable([], now, plain, true)],
      ['no plugins\n', 'no resources\n', 'no limit was ever spent from\n'],
    );
  });

  it('is a line for an event, with the plugin where it is not clear', () => {
    assert.equal(
      eventLine(brokerEvent({ message: 'it came\nin' }), true, plain),
      '2030-01-01T00:00:00.000Z  registered  DevicePlugin/example.com/gpu  it came\\nin [registered]\n',
    );
  });

  it('is why, what to do, and the timeline of one plugin', () => {
    const view = {
      subject: 'DevicePlugin/example.com/gpu',
      state: 'rejected',
      reason: 'NO_LISTENER',
      why: 'It never came in.',
      remedy: 'Serve first.',
      plugins: [],
      events: [brokerEvent({ type: 'refused', reason: 'NO_LISTENER', message: 'nobody listens' })],
    };
    assert.deepEqual(lines(explanation(view, now, plain)), [
      'DevicePlugin/example.com/gpu is rejected (NO_LISTENER): It never came in. Serve first.',
      '',
      '2030-01-01T00:00:00.000Z  refused     nobody listens [NO_LISTENER]',
    ]);
  });
});

describe('the summary', () => {
  const port = new FakeAdminPort();
  port.resourceList = [resourceView(), resourceView({ capacity: 10, allocatable: 10 })];
  port.pluginList = [pluginView(), pluginView({ state: 'gone' }), pluginView({ primary: false })];

  it('is short where all is well', () => {
    assert.deepEqual(lines(statusSummary(port.picture(), now, plain)), [
      'plugin-broker 1.2.3 is ready (pid 77, up 1m30s)',
      'checkpoint  ok, generation 9, 2.0 kB, written 1m30s ago',
      'policy      defaults, read 1m30s ago',
      'plugins     2 ready, 1 gone; 0 came from the checkpoint at start',
      'resources   2, with 11 of 12 devices allocatable',
    ]);
  });

  it('has problems first, each once', () => {
    const status = port.picture();
    const degraded = {
      ...status,
      broker: { ...status.broker, phase: 'degraded' as const, problems: ['policy file: no such key foo'] },
      policy: { ...status.policy, error: 'no such key foo' },
    };
    assert.deepEqual(lines(statusSummary(degraded, now, plain)).slice(0, 3), [
      'plugin-broker 1.2.3 is degraded (pid 77, up 1m30s)',
      '! policy file: no such key foo',
      'checkpoint  ok, generation 9, 2.0 kB, written 1m30s ago',
    ]);
  });

  it('tells why the checkpoint is as it is once: as a problem, or beside it', () => {
    const status = port.picture();
    const checkpoint = { ...status.checkpoint, state: 'not-writable' as const, reason: 'no space left' };
    const shown = (...problems: readonly string[]): readonly string[] =>
      lines(statusSummary({ ...status, broker: { ...status.broker, problems }, checkpoint }, now, plain)).slice(1);
    assert.deepEqual(shown('the checkpoint is not-writable: no space left').slice(0, 2), [
      '! the checkpoint is not-writable: no space left',
      'checkpoint  not-writable, generation 9, 2.0 kB, written 1m30s ago',
    ]);
    assert.equal(shown()[0], 'checkpoint  not-writable (no space left), generation 9, 2.0 kB, written 1m30s ago');
  });

  it('says how many leases there are, and what becomes of resources before a kubelet', () => {
    const front = (state: string, reason = '', agoMs = 0, stays = false): object => ({
      front: { state, reason, since: new Date(now - agoMs).toISOString(), told: { healthy: 0, unhealthy: 0 }, stays },
    });
    const resources = [
      resourceView(front('fronted')),
      resourceView({ name: 'v/nic', ...front('refused', 'another plugin registers it, too') }),
      resourceView({ name: 'v/new', ...front('registering', 'the kubelet is being called', 9_000) }),
      resourceView({ name: 'v/old', ...front('registering', 'it could not be registered: no', 11_000) }),
      resourceView({ name: 'v/tty', ...front('off', 'pods have it until they end', 0, true) }),
      resourceView({ name: 'v/odd', ...front('off', 'it stays with words that decide nothing') }),
    ];
    const status = { ...port.picture(), resources, ledger: { state: 'stale' as const, leases: 3, waiting: 1 } };
    const shown = lines(statusSummary(status, now, plain));
    assert.match(shown[1] ?? '', /^! the ledger is stale: leases of the lost checkpoint are not known; /);
    assert.deepEqual(shown.slice(2, 6), [
      '! v/nic is refused: another plugin registers it, too',
      '! v/old is registering: it could not be registered: no',
      '! v/tty: pods have it until they end',
      'checkpoint  ok, generation 9, 2.0 kB, written 1m30s ago',
    ]);
    assert.ok(shown.includes('leases      3, and 1 request that wait for devices'));
    assert.ok(shown.includes('kubelet     1 fronted, 1 refused, 2 registering'));
  });

  it('names the plugins that are not ready, but never more than fit a screen', () => {
    const quarantined = Array.from({ length: 14 }, (_, index) =>
      pluginView({ name: `a.io/${index}`, state: 'quarantined' }),
    );
    const shown = lines(statusSummary({ ...port.picture(), plugins: quarantined }, now, plain));
    assert.equal(shown.filter((line) => line.startsWith('a.io/')).length, 10);
    assert.equal(shown.at(-2), 'and 4 more: plugin-broker plugins');
    assert.ok(shown.length < 24);
  });

  it('names plugins that serve and are in trouble all the same', () => {
    const unpublished = pluginView({ name: 'csi.a.io', type: 'CSIPlugin', reason: 'publish-pending' });
    const status = { ...port.picture(), plugins: [pluginView(), unpublished] };
    assert.deepEqual(lines(statusSummary(status, now, plain)).slice(-3), [
      'LOOK AT   STATE  REASON           FOR    TYPE',
      'csi.a.io  ready  publish-pending  1m30s  CSIPlugin',
      'why, and what to do: plugin-broker explain csi.a.io',
    ]);
  });

  it('names plugins that are refused again and again, with how often and why, although they have no state', () => {
    const refused = {
      ...{ plugin: 'DevicePlugin/a.io/x', socket: '/r/x.sock', reason: 'VERSION_UNSUPPORTED', refusals: 12 },
      ...{ message: 'a.io/x: v9 is not supported', since: '2030-01-01T00:00:00Z', last: '2030-01-01T00:01:20Z' },
    };
    const shown = lines(statusSummary({ ...port.picture(), plugins: [], refused: [refused] }, now, plain));
    assert.deepEqual(shown.slice(-4), [
      'REFUSED              REASON               TIMES  FOR    LAST',
      'DevicePlugin/a.io/x  VERSION_UNSUPPORTED     12  1m30s  10s ago',
      'why:',
      '  a.io/x: v9 is not supported',
    ]);
  });
});
