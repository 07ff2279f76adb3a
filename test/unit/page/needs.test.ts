import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explain } from '../../../src/admin/explain.js';
import { needsOf, type NeedFacts } from '../../../src/page/needs.js';
import { brokerEvent, FakeAdminPort, limitView, pluginView } from '../../support/fake-admin-port.js';

const NOW = Date.UTC(2030, 0, 1, 0, 1);
const { broker, checkpoint, policy, ledger, refused: none } = new FakeAdminPort().status();
const place = {
  host: 'n',
  root: '/r',
  state: '/r/state',
  address: '',
  devicePlugins: '/r/d',
  registry: '/r/p',
  isOpen: false,
};

function facts(given: Partial<NeedFacts> = {}): NeedFacts {
  const head = { broker, checkpoint, policy, ledger, refused: none };
  const recent = given.recent ?? [];
  const why: NeedFacts['why'] = (subject, plugins) =>
    explain(
      subject,
      plugins,
      recent.filter((event) => event.plugin === subject),
    );
  const rows = { plugins: [], keptUntil: () => '', resources: [], limits: [], leases: [] };
  return { place, head, ...rows, recent, now: NOW, why, ...given };
}

void describe('the needs of the page', () => {
  void it('is nothing where all is well', () => {
    const plugins = [
      pluginView({}),
      pluginView({ name: 'example.com/left', primary: false, state: 'gone', reason: 'goodbye' }),
    ];
    assert.deepEqual(needsOf(facts({ plugins })), []);
  });

  void it('says of each of five problems what is wrong and what to type, the worst first', () => {
    const head = {
      broker: {
        ...broker,
        problems: ['the checkpoint is not-writable: no space', 'the policy file p.yaml is not in force: bad key'],
      },
      checkpoint: { ...checkpoint, state: 'not-writable' as const, reason: 'no space' },
      policy: { ...policy, source: 'p.yaml', error: 'bad key' },
      ledger,
      refused: none,
    };
    const until = '2030-01-01T00:05:00.000Z';
    const plugins = [
      pluginView({ name: 'example.com/loud', state: 'quarantined', reason: 'quarantine', quarantinedUntil: until }),
      pluginView({ name: 'example.com/lost', state: 'held', reason: 'connection-lost' }),
    ];
    const limits = [limitView({ plugin: 'DevicePlugin/example.com/loud', quarantinedUntil: until })];
    const refused = 'DevicePlugin/Bad Name';
    const recent = [
      brokerEvent({
        time: new Date(NOW - 1000).toISOString(),
        type: 'refused',
        reason: 'NAME_INVALID',
        plugin: refused,
        message: '"Bad Name" has a space',
      }),
    ];
    const keptUntil: NeedFacts['keptUntil'] = ({ state }) => (state === 'held' ? until : '');
    const needs = needsOf(facts({ head, plugins, keptUntil, limits, recent }));
    assert.deepEqual(
      needs.map(({ kind, subject, command, until: ends }) => [kind, subject, command, ends]),
      [
        ['problem', '', 'df -h /r/state', ''],
        ['problem', '', 'plugin-broker check-config p.yaml', ''],
        ['quarantined', 'DevicePlugin/example.com/loud', 'plugin-broker pardon example.com/loud', until],
        ['refused', refused, "plugin-broker explain 'Bad Name'", ''],
        ['held', 'DevicePlugin/example.com/lost', 'plugin-broker explain example.com/lost', until],
      ],
    );
    for (const { what, remedy } of needs) {
      assert.match(what, /^[A-Z].*\.$/);
      assert.doesNotMatch(remedy, /NAME/);
    }
    assert.match(needs[3]?.what ?? '', /has a space/);
  });

  void it('tells a quarantine of a stranger in the name of a plugin apart from one of the plugin', () => {
    const until = '2030-01-01T00:05:00.000Z';
    const subject = 'DevicePlugin/example.com/gpu';
    const limits = [
      limitView({ plugin: subject, uid: 0, quarantinedUntil: '' }),
      limitView({ plugin: subject, uid: 4001, quarantinedUntil: until }),
    ];
    const serves = pluginView({ name: 'example.com/gpu', uid: 0 });
    const [need, ...more] = needsOf(facts({ plugins: [serves], limits }));
    assert.deepEqual([need?.kind, need?.subject, need?.until, more], ['quarantined', subject, until, []]);
    assert.match(need?.what ?? '', /uid 4001 .*The plugin, .* is not\.$/);
    assert.equal(need?.command, 'plugin-broker events --plugin example.com/gpu');
    const lost = pluginView({ name: 'example.com/gpu', uid: 0, state: 'held', reason: 'connection-lost' });
    assert.deepEqual(
      needsOf(facts({ plugins: [lost], limits })).map(({ kind }) => kind),
      ['quarantined', 'held'],
    );
  });

  void it('names a plugin and a directory in commands as they are, whatever characters they have', () => {
    const until = '2030-01-01T00:05:00.000Z';
    const name = "$'a$&b$`c";
    const limits = [limitView({ plugin: `DevicePlugin/${name}`, quarantinedUntil: until })];
    const head = {
      ...{ broker, policy, ledger, refused: none },
      checkpoint: { ...checkpoint, state: 'not-writable' as const, reason: 'no space' },
    };
    const needs = needsOf(facts({ head, limits, place: { ...place, state: '/r/$&' } }));
    const quoted = "'$'\\''a$&b$`c'";
    assert.deepEqual(
      needs.map(({ command }) => command),
      ["df -h '/r/$&'", `plugin-broker pardon ${quoted}`],
    );
    assert.ok(needs[1]?.remedy.includes(`\`plugin-broker pardon ${quoted}\``), needs[1]?.remedy);
  });

  void it('shows a few of many alike and counts the rest', () => {
    const plugins = Array.from({ length: 100 }, (_, nth) =>
      pluginView({ name: `example.com/p${String(nth)}`, state: 'held', reason: 'connection-lost' }),
    );
    const needs = needsOf(facts({ plugins }));
    assert.deepEqual([needs.length, needs.at(-1)?.more], [8, 92]);
  });

  void it('forgets a refusal once its plugin came in', () => {
    const plugin = 'DevicePlugin/example.com/late';
    const time = new Date(NOW - 1000).toISOString();
    const refused = brokerEvent({ time, type: 'refused', reason: 'ENDPOINT_MISSING', plugin });
    const came = brokerEvent({ time, plugin });
    assert.equal(needsOf(facts({ recent: [refused] })).length, 1);
    assert.equal(needsOf(facts({ recent: [refused, came] })).length, 0);
  });

  void it('says what is wrong with one that knocks until it is told to wait', () => {
    const refused = brokerEvent({ time: new Date(NOW - 1000).toISOString(), type: 'refused', reason: 'NAME_INVALID' });
    const told = brokerEvent({ ...refused, reason: 'QUARANTINED', message: 'kept out' });
    const [need] = needsOf(facts({ recent: [refused, told] }));
    assert.match(need?.what ?? '', /^It never came in\. The name is not .* Since then: kept out\.$/);
    assert.match(need?.remedy ?? '', /^Use vendor-domain\/resource/);
  });

  void it('gives no command with a name that would press keys in the terminal it is copied into', () => {
    const time = new Date(NOW - 1000).toISOString();
    for (const socket of ['/r/\u0015id\r.sock', '/r/\u001b[201~id\n.sock', '/r/\u202edcba.sock']) {
      const event = brokerEvent({ time, type: 'refused', reason: 'NO_LISTENER', plugin: '', socket });
      const [need] = needsOf(facts({ recent: [event] }));
      assert.deepEqual([need?.subject, need?.command], [socket, 'plugin-broker events']);
    }
  });

  void it('says where the broker is, where commands do not find it by themselves', () => {
    const plugins = [pluginView({ state: 'held', reason: 'connection-lost' })];
    const [need] = needsOf(facts({ plugins, place: { ...place, address: '/odd place/broker.sock' } }));
    assert.equal(need?.command, "plugin-broker explain example.com/gpu --address '/odd place/broker.sock'");
  });
});
