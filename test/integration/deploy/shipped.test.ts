// Every flag, path, port and setting in what is shipped exists in the program.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { defaultRoot } from '../../../src/model/root.js';
import { kubeletPaths } from '../../../src/platform/kubelet/front-paths.js';
import { parseGoFlags } from '../../../src/registrar/go-flags.js';
import { REGISTRAR_FLAGS, registrarOptions } from '../../../src/registrar/options.js';
import { CSI_SIM_OPTIONS } from '../../../src/sim/csi/options.js';
import { buildRoot, distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { run, startCommand } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';
import { containers, kustomizeFiles, manifests, shippedFile, type Container } from './manifests.js';

const ROOT = defaultRoot({ uid: 0, home: '/root', xdgStateHome: undefined });
const brokers = containers().filter(({ container }) => container.args?.[0] === 'serve');
const registrars = containers().filter(({ container }) => container.command?.[0] === 'csi-node-driver-registrar');
const sims = containers().filter(({ container }) => container.args?.[0] === 'sim');
const configs = kustomizeFiles().filter((file) => path.basename(file) === 'plugin-broker.yaml');

const portOf = ({ ports = [] }: Container, port: string | number): number | undefined =>
  typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort;
const probes = ({ livenessProbe, readinessProbe }: Container) =>
  [livenessProbe, readinessProbe].filter((probe) => probe !== undefined).map(({ httpGet }) => httpGet);

describe('the shipped manifests', () => {
  it('have a broker, a registrar and a driver, each of this version and nothing else', () => {
    const { version } = JSON.parse(readFileSync(path.join(buildRoot(), 'package.json'), 'utf8')) as { version: string };
    assert.ok(brokers.length > 0 && registrars.length > 0 && sims.length > 0);
    assert.equal(brokers.length + registrars.length + sims.length, containers().length);
    for (const { container } of containers()) assert.equal(container.image, `plugin-broker:${version}`);
  });

  it('start the broker with flags that it has', async () => {
    const help = (await run(['serve', '--help'])).stdout;
    for (const { container } of brokers) {
      const flags = (container.args ?? []).filter((word) => word.startsWith('-'));
      assert.ok(flags.length > 0);
      for (const flag of flags) assert.match(help, new RegExp(`^ +${flag}[ ,]`, 'm'));
    }
  });

  for (const file of configs) {
    it(`have a config that the program takes: ${file}`, async () => {
      const checked = await run(['check-config', shippedFile(file)]);
      assert.equal(checked.code, 0, checked.stderr + checked.stdout);
    });
  }

  it('mount what the broker reads and writes, as directories, where the program and its config say', () => {
    for (const { container, manifest } of brokers) {
      const mounts = new Map(container.volumeMounts?.map(({ name, mountPath }) => [name, mountPath]));
      const { volumes = [], hostPID } = manifest.spec?.template?.spec ?? {};
      assert.equal(mounts.get('root'), ROOT);
      assert.equal(hostPID, true);
      const config = container.args?.[container.args.indexOf('--config') + 1] ?? '';
      assert.equal(path.dirname(config), mounts.get('config'));
      for (const { name, hostPath } of volumes) {
        if (hostPath === undefined) continue;
        // The same path on both sides: drivers name their sockets as the host sees them.
        assert.equal(mounts.get(name), hostPath.path);
        assert.equal(hostPath.type, 'DirectoryOrCreate');
      }
      const { socket, podResources, ...directories } = kubeletPaths('/var/lib/kubelet');
      for (const directory of [...Object.values(directories), path.dirname(socket), path.dirname(podResources)])
        assert.ok([...mounts.values()].includes(directory), directory);
    }
  });

  it('probe and scrape pages that the broker serves, on the port of its config', async () => {
    const port = await listenPort(configs[0] ?? '');
    for (const { container, manifest } of brokers) {
      const pages = probes(container);
      assert.equal(pages.length, 2);
      const annotations = manifest.spec?.template?.metadata.annotations ?? {};
      assert.equal(Number(annotations['prometheus.io/port']), port);
      for (const page of pages) assert.equal(portOf(container, page.port), port);
      await serves([...pages.map((page) => page.path), annotations['prometheus.io/path'] ?? '']);
    }
    for (const file of configs) assert.equal(await listenPort(file), port);
  });

  it('start the registrar with flags that it has, on the paths where things are mounted', () => {
    for (const { container, manifest } of registrars) {
      const parsed = parseGoFlags(REGISTRAR_FLAGS, container.args ?? []);
      assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
      const options = registrarOptions(parsed.values);
      if (typeof options === 'string') assert.fail(options);
      const mounts = new Map(container.volumeMounts?.map(({ name, mountPath }) => [mountPath, name]));
      const volumes = new Map(
        manifest.spec?.template?.spec.volumes.map(({ name, hostPath }) => [name, hostPath?.path]),
      );
      const hostOf = (mountPath: string): string => volumes.get(mounts.get(mountPath) ?? '') ?? '';
      assert.equal(hostOf(options.directory), path.join(ROOT, 'plugins_registry'));
      const [driver] = options.drivers;
      const inside = driver?.csiAddress ?? '';
      const onHost = path.join(hostOf(path.dirname(inside)), path.basename(inside));
      assert.equal(driver?.kubeletRegistrationPath, onHost);
      for (const page of probes(container)) {
        assert.equal(`:${String(portOf(container, page.port))}`, options.httpEndpoint);
        assert.ok(page.path === '/healthz' || (page.path === '/readyz' && options.readyz), page.path);
      }
    }
  });

  it('start the simulated driver with options that it has, on the socket that is registered', () => {
    for (const { container } of sims) {
      const [, kind, ...flags] = container.args ?? [];
      assert.equal(kind, 'csi');
      const known = new Map(CSI_SIM_OPTIONS.map((option) => [option.flags.split(' ')[0], option]));
      const given = new Map(flags.map((flag) => [flag.slice(0, flag.indexOf('=')), flag.slice(flag.indexOf('=') + 1)]));
      for (const [flag, text] of given) {
        assert.ok(known.has(flag), flag);
        known.get(flag)?.parse?.(text, {});
      }
      const csiAddress = registrars[0]?.container.args?.find((word) => word.startsWith('--csi-address='));
      assert.equal(csiAddress, `--csi-address=${given.get('--socket') ?? ''}`);
      const driver = manifests().find(({ manifest }) => manifest.kind === 'CSIDriver');
      assert.equal(driver?.manifest.metadata?.name, given.get('--driver'));
    }
  });

  it('give the rights that publishing needs, and only those', () => {
    const rules = manifests().flatMap(({ manifest }) => manifest.rules ?? []);
    assert.deepEqual(
      rules.map(({ resources, verbs }) => [...resources, ...verbs]),
      [
        ['nodes', 'get', 'patch'],
        ['csinodes', 'get', 'create', 'patch', 'delete'],
      ],
    );
    const base = manifests().filter(({ file }) => file.includes(`${path.sep}base${path.sep}`));
    assert.deepEqual(
      base.filter(({ manifest }) => manifest.kind.startsWith('ClusterRole')),
      [],
    );
  });
});

describe('the shipped systemd unit', () => {
  const file = shippedFile('systemd', 'plugin-broker.service');
  const unit = new Map(
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => /^\w+=/.test(line))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

  it('starts the program with flags that it has, on the directory that it may write', async () => {
    const [program, command, ...flags] = unit.get('ExecStart')?.split(' ') ?? [];
    assert.deepEqual([path.basename(program ?? ''), command], ['plugin-broker', 'serve']);
    const help = (await run(['serve', '--help'])).stdout;
    for (const flag of flags.filter((word) => word.startsWith('--')))
      assert.match(help, new RegExp(`^ +${flag}[ ,]`, 'm'));
    assert.equal(flags[flags.indexOf('--root') + 1], ROOT);
    assert.equal(`/var/lib/${unit.get('StateDirectory') ?? ''}`, ROOT);
  });

  it('expects what the program does: notify, watchdog, reload, exit codes', () => {
    assert.deepEqual([unit.get('Type'), unit.get('KillMode'), unit.get('NotifyAccess')], ['notify', 'mixed', 'all']);
    assert.equal(unit.get('ExecReload'), `plugin-broker reload --root ${ROOT}`);
    assert.equal(unit.get('RestartPreventExitStatus'), '2 78');
    assert.ok(Number(unit.get('WatchdogSec')) >= 10);
    assert.ok(!unit.has('MemoryDenyWriteExecute') && !unit.has('ProtectProc') && !unit.has('PrivateUsers'));
  });

  const hasAnalyze = spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' }).status === 0;
  it('is accepted by systemd', { skip: hasAnalyze ? false : 'no systemd-analyze here' }, () => {
    const copy = path.join(tempDir(), 'plugin-broker.service');
    writeFileSync(copy, readFileSync(file, 'utf8').replace(/^(Exec\w+)=plugin-broker/gm, '$1=/bin/true'));
    const verified = spawnSync('systemd-analyze', ['verify', copy], { encoding: 'utf8' });
    assert.deepEqual([verified.status, verified.stderr], [0, '']);
  });

  it(
    'leaves the program what it needs: its root, and power over the files of others',
    { skip: whyNoSandbox() },
    async () => {
      const root = path.join(tempDir(), 'root');
      mkdirSync(root);
      const capabilities = (unit.get('CapabilityBoundingSet') ?? '')
        .toLowerCase()
        .replaceAll('cap_', '+')
        .replaceAll(' ', ',');
      const script = [
        'mount --make-rprivate /',
        `mount --bind ${root} ${root}`,
        'mount -o remount,ro,bind /',
        '! touch /is-read-only',
        `exec setpriv --bounding-set=-all,${capabilities} --inh-caps=-all --no-new-privs '${process.execPath}' '${distFile()}' serve --root ${root}`,
      ].join(' && ');
      const broker = startCommand('unshare', ['--mount', 'sh', '-c', script]);
      await eventually(`it serves: ${broker.stderr()}`, () => broker.stderr().includes('"broker.started"'));
      const plugin = startCommand(process.execPath, [distFile(), 'sim', 'device', '--root', root]);
      await eventually('a plugin is ready, and its process is known', async () => {
        const { stdout } = await run(['plugins', '--root', root, '-o', 'json']);
        const [view] = JSON.parse(stdout) as { state: string; pid: number }[];
        return view?.state === 'ready' && view.pid === plugin.child.pid;
      });
      plugin.child.kill('SIGKILL');
      broker.child.kill('SIGTERM');
      assert.equal((await broker.ended).code, 0);
    },
  );
});

/** Why the sandbox of the unit cannot be made here; false when it can. */
function whyNoSandbox(): string | false {
  try {
    execFileSync('unshare', ['--mount', 'setpriv', '--bounding-set=-all,+dac_override', 'true'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'mount namespaces and capabilities cannot be changed here';
  }
}

async function listenPort(file: string): Promise<number> {
  const { stdout } = await run(['check-config', shippedFile(file)]);
  return Number(/listen: ['"]?[\d.]+:(\d+)/.exec(stdout)?.[1]);
}

/** Asks a broker of its own for pages. */
async function serves(pages: readonly string[]): Promise<void> {
  const root = tempDir();
  const config = path.join(root, 'config.yaml');
  writeFileSync(config, 'http: {listen: "127.0.0.1:0"}\n');
  const broker = startCommand(process.execPath, [distFile(), 'serve', '--root', root, '--config', config]);
  const address = await eventually(
    'it listens',
    () => /"http.listening","address":"([^"]+)"/.exec(broker.stderr())?.[1],
  );
  for (const page of pages) assert.equal((await fetch(`http://${address}${page}`)).status, 200, page);
  broker.child.kill('SIGTERM');
  await broker.ended;
}
