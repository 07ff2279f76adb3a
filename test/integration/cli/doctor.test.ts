import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { examineMachine } from '../../../src/cli/commands/doctor.js';
import type { Finding, Scope } from '../../../src/cli/doctor/finding.js';
import { readConfig } from '../../../src/cli-config.js';
import { runHere } from '../../support/captured-terminal.js';
import { FakeAdminPort, resourceView } from '../../support/fake-admin-port.js';
import { run } from '../../support/program.js';
import { serveAdmin } from '../../support/served-admin.js';
import { tempDir } from '../../support/temp-dir.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;
const SUBDIRECTORIES = ['device-plugins', 'plugins_registry', 'plugins', 'state', 'proc'];

/** A machine made of files: a root as serve makes it, and a proc file system with nothing in it. */
async function machine(change: Partial<Scope> = {}): Promise<{ readonly root: string; readonly scope: Scope }> {
  const root = tempDir();
  for (const name of SUBDIRECTORIES) mkdirSync(path.join(root, name), { mode: 0o700 });
  const read = await readConfig(undefined, root);
  assert.ok(read.ok);
  const scope: Scope = {
    settings: read.settings,
    proc: path.join(root, 'proc'),
    fuseConf: path.join(root, 'fuse.conf'),
    kubeletDevicePlugins: path.join(root, 'device-plugins'),
    uid: process.geteuid?.() ?? 0,
    daemon: undefined,
    whyNoDaemon: 'the daemon cannot be reached',
    hasNativeCalls: true,
    kernel: '6.18.44-test',
    ...change,
  };
  return { root, scope };
}

async function found(scope: Scope, name: string): Promise<readonly string[]> {
  const findings = await examineMachine(scope);
  return findings.filter((each) => each.name === name).map(({ verdict, message }) => `${verdict}: ${message}`);
}

/** A socket with a listener, or with none: its listener is gone, the file is not. */
async function makeSocket(file: string, isAlive: boolean): Promise<void> {
  const server = createServer((peer) => peer.destroy());
  const bound = isAlive ? file : `${file}.bound`;
  await new Promise<void>((resolve) => server.listen(bound, resolve));
  if (isAlive) {
    after(() => server.close());
    return;
  }
  linkSync(bound, file); // closing the listener removes only the name it was bound to
  await new Promise((resolve) => server.close(resolve));
}

describe('doctor', () => {
  it('says whether leases can have CDI names, and never fails for it', async () => {
    const { root, scope } = await machine();
    const at = (dir: string | undefined): Scope => ({
      ...scope,
      settings: { ...scope.settings, cdi: { ...scope.settings.cdi, dir } },
    });
    const about = async (dir: string | undefined): Promise<string> =>
      (await found(at(dir), 'directory of CDI files')).join();
    assert.equal(await about(undefined), 'ok: CDI is off (cdi.dir)');
    const dir = path.join(root, 'cdi');
    assert.match(await about(dir), /^ok: .* is not there yet; serve makes it/);
    mkdirSync(dir, { mode: 0o755 });
    assert.match(await about(dir), /^ok: .* mode 755/);
    chmodSync(dir, 0o777);
    assert.match(await about(dir), /^warn: others may write .* chmod go-w it/);
    rmSync(dir, { recursive: true });
    writeFileSync(dir, '');
    assert.match(await about(dir), /^warn: .* is not a directory, so leases get no CDI names/);
    assert.match(
      await about(path.join(dir, 'below')),
      /^warn: .* (cannot be looked at \(ENOTDIR\)|is not there, and .* may not be written)/,
    );
  });

  it('lists the clients that can see the status page', async () => {
    const { scope } = await machine();
    const at = (host: string, page: 'on' | 'off'): Scope => ({
      ...scope,
      settings: { ...scope.settings, http: { listen: { host, port: 9720 }, page, allowedHosts: [] } },
    });
    assert.match(
      (await found(at('127.0.0.1', 'on'), 'http')).join(),
      /^ok: .*http:\/\/127\.0\.0\.1:9720\/.*this machine alone/,
    );
    assert.match((await found(at('::', 'on'), 'http')).join(), /^warn: .*\[::\].*names of plugins, paths and uids; /);
    assert.match(
      (await found(at('10.0.0.1', 'off'), 'http')).join(),
      /^warn: http.listen is http.*, for metrics: every client/,
    );
  });

  it('finds nothing to fail on a root as serve makes it', async () => {
    const { scope } = await machine();
    const failed = (await examineMachine(scope)).filter(({ verdict }) => verdict === 'fail');
    assert.deepEqual(failed, []);
  });

  it('finds a file where a directory should be', async () => {
    const { root, scope } = await machine();
    rmSync(path.join(root, 'plugins_registry'), { recursive: true });
    writeFileSync(path.join(root, 'plugins_registry'), '');
    assert.match((await found(scope, 'directory pluginsRegistry')).join(), /^fail: .* is not a directory; remove it/);
  });

  it('lists the users that may connect to kubelet.sock: by its mode, its group, and those for whom that is not enough', async () => {
    const { root, scope } = await machine();
    const socket = path.join(root, 'device-plugins', 'kubelet.sock');
    assert.match((await found(scope, 'who may connect')).join(), /^ok: kubelet\.sock will have mode 0755/);
    await makeSocket(socket, true);
    chmodSync(socket, 0o755);
    assert.match((await found(scope, 'who may connect')).join(), /^ok: only root.*'0775'/);
    chmodSync(socket, 0o770);
    const withGroup = { ...scope, settings: { ...scope.settings, socket: { ...scope.settings.socket, mode: 0o770 } } };
    assert.match(
      (await found(withGroup, 'who may connect')).join(),
      /^ok: root.* may connect .*0770.*, and its group \(.*\), unless it has an ACL: .*getfacl /,
    );
    chmodSync(socket, 0o777);
    assert.match((await found(scope, 'who may connect')).join(), /^ok: every user who may enter/);
    if (process.getuid?.() !== 0) return; // only root can make a file of another user
    chmodSync(socket, 0o755);
    const stranger = path.join(root, 'device-plugins', 'gpu.sock');
    await makeSocket(stranger, true);
    chownSync(stranger, 54321, 54321);
    assert.match(
      (await found(scope, 'who may connect')).join(),
      /^warn: only root may connect .* sockets of uid 54321; set socket\.mode: '0775'/,
    );
  });

  it('does not take the mask of an ACL for the right of the group', { skip: !hasPython }, async () => {
    const { root, scope } = await machine();
    const socket = path.join(root, 'device-plugins', 'kubelet.sock');
    await makeSocket(socket, true);
    // user::rwx, user:54321:rwx, group::r-x, mask::rwx, other::r-x as the kernel keeps it (version 2, little endian).
    const script = `
import os, struct, sys
none = 0xffffffff
entries = [(1, 7, none), (2, 7, 54321), (4, 5, none), (16, 7, none), (32, 5, none)]
acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)
os.setxattr(sys.argv[1], 'system.posix_acl_access', acl)`;
    const set = spawnSync('python3', ['-c', script, socket]);
    assert.equal(set.status, 0, set.stderr.toString());
    assert.equal(statSync(socket).mode & 0o777, 0o775);
    const [line = ''] = await found(scope, 'who may connect');
    assert.match(line, /^ok: root.* may connect .*0775.*, and those whose entry in its ACL .*getfacl .*kubelet\.sock/);
    assert.match(line, /socket\.mode \(0755\): it is the mask of an ACL, which says nothing of its group/);
  });

  it('accepts that a directory is not there yet', async () => {
    const { root, scope } = await machine();
    rmSync(path.join(root, 'state'), { recursive: true });
    assert.match((await found(scope, 'directory state')).join(), /^ok: .* is not there yet; serve makes it/);
  });

  it('finds a state directory that is open to others', async () => {
    const { root, scope } = await machine();
    chmodSync(path.join(root, 'state'), 0o755);
    assert.match((await found(scope, 'directory state')).join(), /^warn: .*mode 755\); chmod 700 it/);
  });

  it('finds a door that everybody may put sockets into', async () => {
    const { root, scope } = await machine();
    chmodSync(path.join(root, 'device-plugins'), 0o777);
    assert.match((await found(scope, 'directory devicePlugins')).join(), /^warn: everybody may put sockets into/);
  });

  it('finds doors in which other users may move the sockets of root', async () => {
    const { root, scope } = await machine();
    for (const [key, name] of [
      ['devicePlugins', 'device-plugins'],
      ['pluginsRegistry', 'plugins_registry'],
    ] as const) {
      chmodSync(path.join(root, name), 0o775);
      assert.match((await found(scope, `directory ${key}`)).join(), /^warn: .*, and is not sticky, .*: chmod \+t/);
      chmodSync(path.join(root, name), 0o1775);
      assert.match((await found(scope, `directory ${key}`)).join(), /^ok: /);
    }
  });

  it('finds a directory that belongs to another user', async () => {
    const { scope } = await machine({ uid: 4_000_000 });
    assert.match((await found(scope, 'directory plugins')).join(), /^fail: uid 4000000 may not .* chown or chmod it/);
  });

  it('finds sockets without a listener, and names them', async () => {
    const { root, scope } = await machine();
    const nested = path.join(root, 'plugins_registry', 'deep');
    mkdirSync(nested);
    await makeSocket(path.join(root, 'device-plugins', 'dead.sock'), false);
    await makeSocket(path.join(nested, 'dead-too'), false);
    await makeSocket(path.join(root, 'device-plugins', '.hidden'), false);
    await makeSocket(path.join(root, 'device-plugins', 'alive.sock'), true);
    assert.deepEqual(await found(scope, 'plugin sockets'), [
      `warn: 2 sockets without a listener: start the plugins they belong to, or remove them: ${root}/device-plugins/dead.sock, ${nested}/dead-too`,
    ]);
  });

  it('finds a directory that was mounted in the place of a socket', async () => {
    const { root, scope } = await machine();
    mkdirSync(path.join(root, 'device-plugins', 'gpu.sock'));
    mkdirSync(path.join(root, 'device-plugins', 'kubelet.sock'));
    assert.match((await found(scope, 'plugin sockets')).join(), /^warn: 1 path called like a socket, but a directory/);
    assert.match((await found(scope, 'kubelet.sock')).join(), /^fail: .*kubelet\.sock is a directory .*; remove it/);
  });

  it('finds another daemon on kubelet.sock', async () => {
    const { root, scope } = await machine();
    await makeSocket(path.join(root, 'device-plugins', 'kubelet.sock'), true);
    assert.match(
      (await found(scope, 'kubelet.sock')).join(),
      /^fail: somebody listens .* stop that daemon \(a kubelet\?\)/,
    );
    const ours = { ...scope, daemon: new FakeAdminPort().picture() };
    assert.match((await found(ours, 'kubelet.sock')).join(), /^ok: .* answers$/);
  });

  it('accepts a kubelet.sock that a dead daemon left', async () => {
    const { root, scope } = await machine();
    await makeSocket(path.join(root, 'device-plugins', 'kubelet.sock'), false);
    assert.match((await found(scope, 'kubelet.sock')).join(), /^ok: nobody listens .* serve replaces it$/);
  });

  it('finds that the sockets of a running daemon were removed', async () => {
    const { scope } = await machine({ daemon: new FakeAdminPort().picture() });
    assert.match((await found(scope, 'admin socket')).join(), /^fail: .* was removed; restart the daemon$/);
  });

  it('passes on what a degraded daemon says of itself', async () => {
    const status = new FakeAdminPort().picture();
    const problems = ['the disk is full', 'the policy file is bad'];
    const { scope } = await machine({ daemon: { ...status, broker: { ...status.broker, problems } } });
    assert.deepEqual(
      (await found(scope, 'daemon')).map((line) => line.replace(/ is ready.*: /, '… ')),
      [
        'fail: plugin-broker 1.2.3 (pid 77)… the disk is full',
        'fail: plugin-broker 1.2.3 (pid 77)… the policy file is bad',
      ],
    );
  });

  it('looks at the kubelet that the broker stands before, and names plugins that talk past us', async () => {
    const { root, scope } = await machine();
    const kubeletDir = path.join(root, 'k');
    const front = { ...scope.settings.front, enabled: true, kubeletDir };
    const status = new FakeAdminPort().picture();
    const refused = {
      state: 'refused',
      reason: 'another has it',
      since: '',
      told: { healthy: 0, unhealthy: 0 },
      stays: false,
    };
    const before: Scope = {
      ...scope,
      settings: { ...scope.settings, front },
      daemon: { ...status, resources: [resourceView({ front: refused })] },
    };
    assert.match((await found(before, "the kubelet's directories")).join(), /device-plugins is not there; /);
    for (const name of ['device-plugins/plugin-broker', 'plugins', 'plugins_registry', 'pod-resources']) {
      mkdirSync(path.join(kubeletDir, name), { recursive: true, mode: 0o700 });
    }
    assert.match((await found(before, 'the kubelet')).join(), /^warn: nobody answers on .*kubelet.sock \(missing\)/);
    for (const name of ['device-plugins/kubelet.sock', 'device-plugins/plugin-broker/ours.sock']) {
      await makeSocket(path.join(kubeletDir, name), true);
    }
    assert.match(
      (await found(before, 'the kubelet')).join(),
      /a device given twice is not noticed; mount .*\/k\/pod-resources into the container .* podResources.upstream/,
    );
    const moved = path.join(root, 'elsewhere.sock');
    await makeSocket(moved, true);
    const podResources = { ...scope.settings.podResources, upstream: moved };
    assert.deepEqual(await found({ ...before, settings: { ...before.settings, podResources } }, 'the kubelet'), [
      `ok: ${path.join(kubeletDir, 'device-plugins/kubelet.sock')} and ${moved} answer`,
    ]);
    await makeSocket(path.join(kubeletDir, 'pod-resources/kubelet.sock'), true);
    assert.match((await found(before, 'the kubelet')).join(), /^ok: /);
    assert.deepEqual(await found(before, 'resources of the kubelet'), [
      'warn: example.com/gpu is refused: another has it; see plugin-broker explain example.com/gpu',
    ]);
    const stays = resourceView({
      front: { ...refused, state: 'off', reason: 'pods have it until they end', stays: true },
    });
    const moving = { ...before, daemon: { ...status, resources: [stays] } };
    assert.deepEqual(await found(moving, 'resources of the kubelet'), [
      'warn: example.com/gpu: pods have it until they end; see plugin-broker explain example.com/gpu',
    ]);
    assert.match((await found(before, 'plugins past us')).join(), /^ok: no plugin listens/);
    await makeSocket(path.join(kubeletDir, 'device-plugins/nic.sock'), true);
    await makeSocket(path.join(kubeletDir, 'device-plugins/old.sock'), false);
    assert.match(
      (await found(before, 'plugins past us')).join(),
      /^warn: 1 socket of plugins that talk to the kubelet past us: nic.sock in .*; restart one that was behind it before/,
    );
    const held = { ...status, resources: [resourceView({ state: 'held', front: { ...refused, state: 'fronted' } })] };
    assert.match(
      (await found({ ...before, daemon: held }, 'plugins past us')).join(),
      /if one of them is the plugin of example.com\/gpu, .* run plugin-broker deregister example.com\/gpu --force /,
    );
    const elsewhere = await examineMachine({ ...before, uid: 12_345 });
    const denied = elsewhere.filter(({ name, verdict }) => name === "the kubelet's directories" && verdict === 'fail');
    assert.equal(denied.length, 3);
    assert.deepEqual(await found(scope, 'the kubelet'), [], 'nothing is said where there is no front');
  });

  it('counts the inotify use of the user against the limits of the kernel', async () => {
    const { root, scope } = await machine();
    const settings = path.join(root, 'proc/sys/fs/inotify');
    mkdirSync(settings, { recursive: true });
    writeFileSync(path.join(settings, 'max_user_watches'), '66\n');
    writeFileSync(path.join(settings, 'max_user_instances'), '128\n');
    const process_ = path.join(root, 'proc/4711');
    mkdirSync(path.join(process_, 'fd'), { recursive: true });
    mkdirSync(path.join(process_, 'fdinfo'));
    symlinkSync('anon_inode:inotify', path.join(process_, 'fd/7'));
    symlinkSync('/dev/null', path.join(process_, 'fd/8'));
    writeFileSync(path.join(process_, 'fdinfo/7'), `pos:\t0\n${'inotify wd:1 ino:2\n'.repeat(3)}`);
    assert.match(
      (await found(scope, 'inotify watches')).join(),
      /^warn: user \d+ has 3 of 66 inotify watches in use; raise it/,
    );
    assert.match(
      (await found(scope, 'inotify instances')).join(),
      /^ok: user \d+ has 1 of 128 inotify instances in use$/,
    );
  });

  it('compares the limit of open files with what the configuration can need', async () => {
    const { root, scope } = await machine();
    const limits = path.join(root, 'proc/self');
    mkdirSync(limits);
    const line = (soft: string): string =>
      `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}   4096   files\n`;
    writeFileSync(path.join(limits, 'limits'), line('1024'));
    assert.match((await found(scope, 'open files')).join(), /^warn: 1024 files may be open, .*raise LimitNOFILE/);
    writeFileSync(path.join(limits, 'limits'), line('unlimited'));
    assert.match((await found(scope, 'open files')).join(), /^ok: /);
  });

  it('finds sockets that are mounted by themselves, spaces in their paths and all', async () => {
    const { root, scope } = await machine();
    const mounted = path.join(root, 'device-plugins', 'my plugin.sock');
    await makeSocket(mounted, true);
    mkdirSync(path.join(root, 'proc/self'));
    const line = (point: string): string => `36 35 98:0 / ${point.replaceAll(' ', '\\040')} rw - ext4 /dev/root rw\n`;
    const lines = [line('/'), line(mounted), line(path.join(root, 'device-plugins'))];
    writeFileSync(path.join(root, 'proc/self/mountinfo'), lines.join(''));
    assert.deepEqual(await found(scope, 'mounts'), [
      `fail: ${mounted} is mounted by itself; mount its directory instead, because a mounted socket stays the old one after a restart`,
    ]);
  });

  it('warns where users may mount what root enters, and finds such a mount without looking into it', async () => {
    const { root, scope } = await machine();
    assert.deepEqual(await found(scope, 'FUSE'), ['ok: users cannot mount what root enters']);
    writeFileSync(scope.fuseConf, '# user_allow_other\nmount_max = 10\n');
    assert.match((await found(scope, 'FUSE')).join(), /^ok/);
    writeFileSync(scope.fuseConf, 'mount_max = 10\nuser_allow_other\n');
    assert.match((await found(scope, 'FUSE')).join(), /^warn: .* has user_allow_other, .*; remove that line, /);
    mkdirSync(path.join(root, 'proc/self'));
    const point = path.join(root, 'plugins_registry/mine');
    const line = (type: string, uid: string): string =>
      `36 35 0:50 / ${point} rw,nosuid - ${type} remote rw,user_id=${uid},group_id=0,allow_other\n`;
    const mounted = (type: string, uid = '4001'): void =>
      writeFileSync(path.join(root, 'proc/self/mountinfo'), line(type, uid));
    for (const type of ['fuse', 'fuse.rclone', 'fuseblk']) {
      mounted(type);
      assert.match(
        (await found(scope, 'FUSE')).join(),
        /^fail: .*plugins_registry\/mine is a file system of uid 4001: /,
      );
      assert.deepEqual(await found(scope, 'plugin sockets'), []);
    }
    mounted('fuse', '0');
    assert.match((await found(scope, 'FUSE')).join(), /^warn/);
  });

  it('finds a kubelet that uses the same directory', async () => {
    const { root, scope } = await machine();
    mkdirSync(path.join(root, 'proc/99'));
    const own = String(process.getuid?.());
    const runAs = (real: string, effective: string): void => {
      const uids = [real, effective, effective, effective].join('\t');
      writeFileSync(path.join(root, 'proc/99/status'), `Name:\tkubelet\nState:\tS (sleeping)\nUid:\t${uids}\n`);
    };
    runAs(own, own);
    assert.match(
      (await found(scope, 'how plugins reach us')).join(),
      /^fail: a kubelet runs here \(pid 99\), and it uses/,
    );
    const apart = { ...scope, kubeletDevicePlugins: path.join(root, 'plugins') };
    assert.match((await found(apart, 'how plugins reach us')).join(), /^ok: a kubelet runs here \(pid 99\); .* mount /);
    // Of another user, also by a link to su that is called kubelet.
    for (const effective of ['4001', '0']) {
      runAs('4001', effective);
      assert.doesNotMatch((await found(scope, 'how plugins reach us')).join(), /a kubelet runs here/);
    }
  });

  it('says how plugins reach a root of its own, and sees through links', async () => {
    const { root, scope } = await machine();
    const elsewhere = { ...scope, kubeletDevicePlugins: path.join(root, 'elsewhere') };
    assert.match(
      (await found(elsewhere, 'how plugins reach us')).join(),
      /^warn: plugins with .* do not find us; mount/,
    );
    symlinkSync(path.join(root, 'device-plugins'), path.join(root, 'elsewhere'));
    assert.match((await found(elsewhere, 'how plugins reach us')).join(), /^ok: plugins find us in/);
  });

  it('says where descriptors that others pass are not refused', async () => {
    const { scope } = await machine();
    const on = async (over: Partial<typeof scope>): Promise<string> =>
      (await found({ ...scope, ...over }, 'descriptors')).join();
    assert.match(await on({}), /^ok: Linux 6\.18\.44-test refuses/);
    assert.match(await on({ kernel: '7.0' }), /^ok: /);
    assert.match(await on({ kernel: '6.16-rc1' }), /^ok: /);
    assert.match(
      await on({ kernel: '6.8.0-45-generic' }),
      /^warn: on Linux 6\.8\.0-45-generic .*run Linux 6\.16 or later$/,
    );
    assert.match(await on({ hasNativeCalls: false }), /^warn: without koffi .*install koffi$/);
  });

  it('says what is lost without koffi', async () => {
    const { scope } = await machine({ hasNativeCalls: false });
    assert.match((await found(scope, 'callers')).join(), /^warn: koffi cannot be loaded/);
    const { settings } = scope;
    const strict = { ...scope, settings: { ...settings, admission: { ...settings.admission, allowUids: [0] } } };
    assert.match((await found(strict, 'callers')).join(), /^fail: .*allowUids cannot be kept/);
  });
});

describe('the doctor command', () => {
  it('ends with 1 and the failed checks when the config is bad, and goes on with the defaults', async () => {
    const root = tempDir();
    const file = path.join(root, 'broker.yaml');
    writeFileSync(file, 'nonsense: 1\n');
    const ended = await runHere(['doctor', '--config', file, '--root', root, '-o', 'json']);
    assert.equal(ended.code, 1);
    assert.equal(ended.stderr, 'plugin-broker: 1 check failed\n');
    const { checks } = JSON.parse(ended.stdout) as { checks: readonly Finding[] };
    assert.match(checks[0]?.message ?? '', /broker\.yaml:1:1: nonsense: there is no such key/);
    assert.ok(checks.length > 10);
    assert.deepEqual(Object.keys(checks[0] ?? {}), ['name', 'verdict', 'message']);
  });

  it('names shipped rules that are lost, and not those that own rules come before', async () => {
    const root = tempDir();
    const file = path.join(root, 'broker.yaml');
    const rulesOf = async (text: string): Promise<string[]> => {
      writeFileSync(file, text);
      const { stdout } = await runHere(['doctor', '--config', file, '--root', root, '-o', 'json']);
      const { checks } = JSON.parse(stdout) as { checks: readonly Finding[] };
      return checks.filter(({ name }) => name === 'rules').map(({ verdict, message }) => `${verdict}: ${message}`);
    };
    const ok = 'ok: the shipped rules are in force, and every rule can take effect';
    assert.deepEqual(await rulesOf('log: { level: info }\n'), [ok]);
    assert.deepEqual(await rulesOf('rules: [{ match: { name: a.example/* }, duplicates: reject }]\n'), [ok]);
    const [warned] = await rulesOf('shippedRules: off\n');
    assert.match(
      warned ?? '',
      /^warn: .*: shippedRules: plugins that do not bear a second ListAndWatch lose their rules/,
    );
  });

  it('looks at the config file of the daemon where none is named', async () => {
    const root = tempDir();
    const file = path.join(root, 'broker.yaml');
    writeFileSync(file, 'nonsense: 1\n');
    const port = new FakeAdminPort();
    const { policy } = port.picture();
    port.status = () => ({ ...FakeAdminPort.prototype.status.call(port), policy: { ...policy, source: file } });
    const served = await serveAdmin(path.join(root, 'broker.sock'), port);
    const { code, stdout } = await run(['doctor', '--root', root]);
    served.cut();
    assert.equal(code, 1);
    assert.match(stdout, /^fail {2}config: .*broker\.yaml:1:1: nonsense: there is no such key/m);
  });

  it('ends with 0 beside a running daemon', async () => {
    const root = tempDir();
    const served = await serveAdmin(path.join(root, 'broker.sock'), new FakeAdminPort());
    for (const name of SUBDIRECTORIES) mkdirSync(path.join(root, name), { mode: 0o700 });
    await makeSocket(path.join(root, 'device-plugins', 'kubelet.sock'), true);
    const { code, stdout, stderr } = await run(['doctor', '--root', root]);
    served.cut();
    assert.deepEqual([code, stderr], [0, ''], stdout);
    assert.match(stdout, /^ok {4}daemon: plugin-broker 1\.2\.3 \(pid 77\) is ready with 0 plugins$/m);
  });
});
