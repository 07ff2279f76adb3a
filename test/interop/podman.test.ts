import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Child } from '../support/child.js';
import { distFile } from '../support/dist.js';
import { run } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';
import { Broker } from './support/broker.js';
import { missing } from './support/tools.js';

const GPU = 'vendor.example/gpu';

/** Podman with a storage of its own, and a container of the files of this machine: no image is needed. */
class Podman {
  readonly #options: readonly string[];
  readonly #rootfs: string;

  constructor() {
    const dir = tempDir();
    const [storage, running] = [path.join(dir, 'storage'), path.join(dir, 'running')];
    this.#rootfs = path.join(dir, 'rootfs');
    for (const name of ['usr', 'dev', 'proc', 'sys', 'tmp', 'run', 'etc']) {
      mkdirSync(path.join(this.#rootfs, name), { recursive: true });
    }
    for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, path.join(this.#rootfs, name));
    this.#options = ['--root', storage, '--runroot', running, '--storage-driver', 'vfs', '--runtime', 'runc'];
  }

  /** Runs a script in a container; gives how that ended and what was said. */
  run(script: string, options: readonly string[] = []): { readonly status: number | null; readonly said: string } {
    // A machine that may not raise its limits starts containers that ask for none.
    const limits = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024'];
    const args = ['run', '--rm', '--network=host', ...limits, '--volume', '/usr:/usr:ro', ...options, '--rootfs'];
    const { status, stdout, stderr } = spawnSync(
      'podman',
      [...this.#options, '--cgroup-manager', 'cgroupfs', ...args, this.#rootfs, '/bin/sh', '-c', script],
      { encoding: 'utf8', timeout: 60_000 },
    );
    return { status, said: `${stdout}${stderr}` };
  }
}

/** Why podman cannot be used, or false: it needs root, and a machine on which containers can be started at all. */
function withoutPodman(): string | false {
  if (process.getuid?.() !== 0) return 'SKIPPED: podman finds devices of leases in /var/run/cdi, which root may write';
  const absent = missing('podman');
  if (absent !== false) return absent;
  const { status, said } = new Podman().run('exit 0');
  if (status === 0) return false;
  const reason = `SKIPPED: podman can start no container on this machine: ${said.trim()}`;
  console.error(reason);
  return reason;
}

describe('podman of Debian 12', { skip: withoutPodman() }, () => {
  it('starts a container that has the device node, the mount and the variables of a lease by its CDI name', async () => {
    const broker = await Broker.start();
    const files = tempDir();
    writeFileSync(path.join(files, 'libacc.txt'), 'of the driver\n');
    const answer = ['--allocate-device', '/dev/null:/dev/acc0:rw', '--allocate-mount', `${files}:/opt/acc:ro`];
    const sim = new Child({ command: process.execPath, args: [distFile(), 'sim', 'device'], env: {} }, [
      ...['--resource', GPU, '--dir', broker.devicePlugins, '--allocate-env', 'ACC_IDS={ids}', ...answer],
    ]);
    await broker.resource(GPU, 'its devices', ({ allocatable }) => allocatable === 2);
    const of = ['--root', broker.root, '--key', 'web'];
    const { stdout: device } = await run(['allocate', ...of, '--device', GPU, '-o', 'args']);
    assert.match(device, /^--device=plugin-broker\/lease=[0-9a-z]{26}\n$/);
    const podman = new Podman();
    const look = 'stat -c "%n %F %t,%T" /dev/acc0; cat /opt/acc/libacc.txt; touch /opt/acc/x; env';
    const { said } = podman.run(look, [device.trim()]);
    const lines = said.split('\n');
    assert.deepEqual(lines.slice(0, 2), ['/dev/acc0 character special file 1,3', 'of the driver'], said);
    assert.match(said, /touch: .*Read-only file system/);
    assert.ok(lines.includes('ACC_IDS=dev-0') && lines.includes(`PLUGIN_BROKER_DEVICES=${GPU}=dev-0`), said);
    // The name is looked up when the container starts: without the lease there is no such device.
    assert.equal((await run(['release', ...of])).code, 0);
    const after = podman.run(look, [device.trim()]);
    assert.match(after.said, /unresolvable CDI devices plugin-broker\/lease=/);
    assert.notEqual(after.status, 0);
    await sim.stop();
    assert.equal(await broker.stop(), 0);
  });
});
