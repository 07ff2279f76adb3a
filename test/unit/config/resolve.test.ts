import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { pathText } from '../../../src/config/problem.js';
import { completeForm } from '../../../src/platform/config/compiled-form.js';
import { resolveSettings } from '../../../src/config/resolve.js';
import { defaultRoot, rootOfEnvironment } from '../../../src/model/root.js';
import { STANDARD_PENALTY } from '../../../src/model/standard-penalty.js';
import type { ConfigForm } from '../../../src/config/file-form.js';
import { formWith, somewhere } from '../../support/config.js';

const problemsOf = (changed: Partial<ConfigForm>, root?: string): string[] =>
  resolveSettings(formWith(changed), root, somewhere).problems.map(({ path }) => pathText(path));
const paths = formWith().paths;
const { flood, admission, discovery } = formWith();

describe('the settings of a form', () => {
  it('the defaults are those of the contract', () => {
    const { settings } = resolveSettings(formWith(), '/r', somewhere);
    assert.ok(settings);
    assert.deepEqual(settings.flood.register, { burst: 5, intervalMs: 2000, onExceed: 'delay', maxDelayMs: 1000 });
    assert.deepEqual(settings.flood.updates, { burst: 10, intervalMs: 250, onExceed: 'coalesce' });
    assert.deepEqual(settings.flood.connections, {
      burst: 300,
      intervalMs: 20,
      onExceed: 'disconnect',
      perProcess: 256,
      total: 2048,
      streams: 128,
    });
    assert.deepEqual(settings.flood.globalRegister, {
      burst: 1000,
      intervalMs: 5,
      onExceed: 'delay',
      maxDelayMs: 1000,
    });
    assert.deepEqual(settings.flood.penalty, {
      strikes: 10,
      windowMs: 60_000,
      quarantineMs: 60_000,
      factor: 2,
      maxMs: 600_000,
    });
    assert.equal(settings.flood.mode, 'enforce');
    assert.deepEqual(settings.timeouts, {
      registerMs: 10_000,
      getInfoMs: 5000,
      optionsMs: 5000,
      notifyMs: 5000,
      nodeGetInfoMs: 15_000,
      allocateMs: 10_000,
      preferredMs: 1000,
      preStartMs: 30_000,
    });
    assert.deepEqual(settings.allocator, {
      enabled: true,
      group: '',
      checkMs: 10_000,
      joinEnv: [],
      maxLeases: 1024,
    });
    assert.deepEqual(settings.cdi.kind, 'plugin-broker/lease');
    assert.deepEqual(settings.podResources, { enabled: true, upstream: undefined });
    assert.deepEqual(settings.grace, { deviceMs: 30_000, csiMs: 0, draMs: 30_000 });
    assert.deepEqual(settings.restart, { deadlineMs: 5000, settleMs: 30_000, wipeSockets: 'on-cold-start' });
    assert.equal(settings.discovery.rescanMs, 10_000);
    assert.deepEqual(settings.http, { listen: { host: '127.0.0.1', port: 9720 }, page: 'on', allowedHosts: [] });
    assert.equal(settings.admission.maxMessageBytes, 16 * 2 ** 20);
    assert.equal(settings.admission.maxListBytesTotal, 256 * 2 ** 20);
    assert.equal(settings.admission.maxPlugins, 1024);
    assert.equal(settings.admission.maxDevices, 200_000);
    assert.equal(settings.admission.allowUids, undefined);
    assert.equal(settings.csi.nodeName, 'node-1');
    assert.equal(settings.csi.kubeconfig, undefined);
  });

  it('no figure of the guard or of a timeout is missing', () => {
    const { settings } = resolveSettings(formWith(), '/r', somewhere);
    assert.ok(settings);
    const numbers = Object.values({ ...settings.guard, ...settings.timeouts, ...settings.checkpoint });
    assert.ok(numbers.length > 20);
    assert.ok(numbers.every((value) => Number.isInteger(value) && value > 0));
  });
});

describe('the root', () => {
  it('is the system directory for root and the state directory of the user otherwise', () => {
    const user = { uid: 1000, home: '/of/ann' };
    assert.equal(defaultRoot({ uid: 0, home: '/root', xdgStateHome: '/x' }), '/var/lib/plugin-broker');
    assert.equal(defaultRoot({ ...user, xdgStateHome: '/x/' }), '/x/plugin-broker');
    assert.equal(defaultRoot({ ...user, xdgStateHome: 'relative' }), '/of/ann/.local/state/plugin-broker');
    assert.equal(defaultRoot({ ...user, xdgStateHome: undefined }), '/of/ann/.local/state/plugin-broker');
  });

  it('is named by PLUGIN_BROKER_ROOT where no flag is given, unless that is empty', () => {
    assert.deepEqual([{}, { PLUGIN_BROKER_ROOT: '' }, { PLUGIN_BROKER_ROOT: '/x' }].map(rootOfEnvironment), [
      undefined,
      undefined,
      '/x',
    ]);
  });

  it('of the command line counts more than that of the file, and relative paths are below it', () => {
    const form = formWith({ paths: { ...paths, root: '/of/file', plugins: 'drivers', state: '/elsewhere' } });
    const flagged = resolveSettings(form, 'here', somewhere).settings?.paths;
    assert.ok(flagged);
    assert.equal(flagged.root, '/srv/here');
    assert.equal(flagged.plugins, '/srv/here/drivers');
    assert.equal(flagged.state, '/elsewhere');
    assert.equal(resolveSettings(form, undefined, somewhere).settings?.paths.devicePlugins, '/of/file/device-plugins');
  });

  it('of 107 bytes of socket path is taken, and one byte more is one problem that says how much too long it is', () => {
    const fits = `/${'r'.repeat(107 - '//device-plugins/kubelet.sock'.length)}`;
    assert.deepEqual(problemsOf({}, fits), []);
    const { problems } = resolveSettings(formWith(), `${fits}r`, somewhere);
    assert.equal(problems.length, 1);
    assert.match(problems[0]?.message ?? '', /kubelet\.sock.*108 bytes/);
    assert.match(problems[0]?.remedy ?? '', /at least 1 bytes shorter/);
    const { problems: deep } = resolveSettings(formWith(), `/${'ü'.repeat(60)}`, somewhere);
    assert.equal(deep.length, 1);
    assert.match(deep[0]?.message ?? '', /and 6 more/);
  });

  it('leaves room for a socket in the folders of drivers, too: one in which no socket could be reached is a problem', () => {
    const fits = `/${'p'.repeat(107 - '//s'.length)}`;
    for (const key of ['pluginsRegistry', 'plugins'] as const) {
      assert.deepEqual(problemsOf({ paths: { ...paths, [key]: fits } }), []);
      const { problems } = resolveSettings(formWith({ paths: { ...paths, [key]: `${fits}p` } }), '/r', somewhere);
      assert.deepEqual(
        problems.map(({ path }) => path),
        [['paths', key]],
      );
      assert.match(problems[0]?.message ?? '', /the shortest socket in \/p+ would have a path of 108 bytes/);
    }
  });
});

describe('checks of more than one key', () => {
  it('a door that holds our own files, or the other door, is a problem', () => {
    assert.deepEqual(problemsOf({ paths: { ...paths, pluginsRegistry: 'device-plugins' } }), ['paths.pluginsRegistry']);
    assert.deepEqual(problemsOf({ paths: { ...paths, state: 'plugins_registry/state' } }), ['paths.state']);
    assert.deepEqual(problemsOf({ paths: { ...paths, devicePlugins: 'state/dp' } }), ['paths.devicePlugins']);
    assert.deepEqual(problemsOf({ paths: { ...paths, brokerSocket: 'device-plugins/b.sock' } }), [
      'paths.brokerSocket',
    ]);
    assert.deepEqual(problemsOf({ paths: { ...paths, root: 'relative' } }), ['paths.root']);
  });

  it("a kubelet's directory that is the broker's, is in it or has it, is a problem where the broker stands before that kubelet", () => {
    const { front } = formWith();
    const problems = (kubeletDir: string, changed: object = {}, enabled = true) =>
      resolveSettings(
        formWith({ front: { ...front, enabled, kubeletDir }, paths: { ...paths, ...changed } }),
        '/r',
        somewhere,
      ).problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
    const is = (theirs: string, key: string, ours: string): string =>
      `front.kubeletDir: ${theirs} is the kubelet's, and paths.${key} is ${ours}`;
    assert.deepEqual(problems('/k'), []);
    assert.deepEqual(problems('/r'), [
      is('/r/device-plugins', 'devicePlugins', '/r/device-plugins'),
      is('/r/plugins_registry', 'pluginsRegistry', '/r/plugins_registry'),
      is('/r/plugins', 'plugins', '/r/plugins'),
      is('/r/pod-resources', 'podResources', '/r/pod-resources'),
    ]);
    assert.deepEqual(problems('/k', { plugins: '/k/plugins/ours' }), [is('/k/plugins', 'plugins', '/k/plugins/ours')]);
    assert.deepEqual(problems('/k/in', { plugins: '/k' })[0], is('/k/in/device-plugins', 'plugins', '/k'));
    assert.deepEqual(problems('/r', {}, false), []);
  });

  it('an address is a host and a port, all addresses, or off', () => {
    const listen = (text: string) =>
      resolveSettings(formWith({ http: { listen: text, page: 'on', allowedHosts: [] } }), '/r', somewhere);
    assert.deepEqual(listen('[::1]:80').settings?.http.listen, { host: '::1', port: 80 });
    assert.deepEqual(listen(':9720').settings?.http.listen, { host: '::', port: 9720 });
    assert.equal(listen('off').settings?.http.listen, undefined);
    for (const wrong of ['9720', 'localhost', 'a:b', '1.2.3.4:70000', '::1:80', 'no', 'http://x:1']) {
      assert.deepEqual(
        listen(wrong).problems.map(({ path }) => path),
        [['http', 'listen']],
        wrong,
      );
    }
  });

  it('a ceiling below its floor is a problem', () => {
    assert.deepEqual(problemsOf({ discovery: { ...discovery, retryFirst: '31s' } }), ['discovery.retryFirst']);
    assert.deepEqual(problemsOf({ flood: { ...flood, penalty: { ...STANDARD_PENALTY, quarantine: '11m' } } }), [
      'flood.penalty.quarantine',
    ]);
    assert.deepEqual(problemsOf({ admission: { ...admission, maxMessageBytes: '1GiB' } }), [
      'admission.maxMessageBytes',
    ]);
    assert.deepEqual(problemsOf({ flood: { ...flood, connections: { ...flood.connections, perProcess: 4096 } } }), [
      'flood.connections.perProcess',
    ]);
  });

  it('a rule for nobody, and one whose penalty contradicts itself, are problems', () => {
    assert.deepEqual(
      problemsOf({ rules: [{ match: {} }, { match: { name: '*' }, flood: { penalty: { max: '1s' } } }] }),
      ['rules[0].match', 'rules[1].flood.penalty'],
    );
  });

  it('the mode of kubelet.sock is octal text; a group that it does not let in is a problem', () => {
    const resolved = (mode: string, group: string | number) =>
      resolveSettings(formWith({ socket: { mode, group } }), '/r', somewhere).settings?.socket;
    assert.deepEqual(resolved('0755', 'inherit'), { mode: 0o755, group: undefined });
    assert.deepEqual(resolved('770', 990), { mode: 0o770, group: 990 });
    assert.deepEqual(resolved('770', '990'), { mode: 0o770, group: 990 });
    assert.deepEqual(problemsOf({ socket: { mode: '0755', group: 'plugins' } }), ['socket.group']);
    for (const mode of [755, 0o755, '0999', '755 ', '04755']) {
      assert.equal(completeForm({ socket: { mode } }), undefined, String(mode));
    }
  });

  it('the class of CDI names has no dot: files that have one are of a newer version of CDI than ours', () => {
    const kinds = ['plugin-broker/lease', 'example.com/lease', 'example.com/le.ase', 'lease'];
    assert.deepEqual(
      kinds.filter((kind) => completeForm({ cdi: { kind } }) !== undefined),
      ['plugin-broker/lease', 'example.com/lease'],
    );
  });

  it('a list of uids is a problem where the kernel cannot identify callers, and any is none', () => {
    const blind = { ...somewhere, knowsCallers: () => false };
    const form = formWith({ admission: { ...admission, allowUids: [0] } });
    assert.deepEqual(
      resolveSettings(form, '/r', blind).problems.map(({ path }) => path),
      [['admission', 'allowUids']],
    );
    assert.deepEqual(resolveSettings(form, '/r', somewhere).settings?.admission.allowUids, [0]);
    assert.deepEqual(resolveSettings(formWith(), '/r', blind).problems, []);
  });

  it('a duration that no timer can hold is a problem wherever it stands', () => {
    const rules = [{ match: { name: '*' }, grace: '999h', flood: { register: { interval: '900h' } } }];
    assert.deepEqual(problemsOf({ rules, liveness: { interval: '600h', timeout: '1s', failures: 1 } }), [
      'liveness.interval',
      'rules[0].flood.register.interval',
      'rules[0].grace',
    ]);
  });
});
