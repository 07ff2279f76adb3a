import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Program } from '../../support/child.js';
import { buildRoot } from '../../support/dist.js';
import { tempDir } from '../../support/temp-dir.js';
import { PYTHON } from './tools.js';

const sources = (...parts: readonly string[]): string => path.join(buildRoot(), 'test', 'interop', ...parts);
const proto = (...parts: readonly string[]): string => path.join(buildRoot(), 'proto', ...parts);

/** Our own files of the APIs that plugins and drivers are built with, by the name of the package made of them. */
const APIS = {
  deviceplugin: proto('deviceplugin', 'v1beta1', 'deviceplugin.proto'),
  pluginregistration: proto('pluginregistration', 'v1', 'pluginregistration.proto'),
};

/** Runs protoc for one API. `flag` says what to make of it and ends before the folder. */
function generate(file: string, flag: string, into: string): void {
  mkdirSync(into, { recursive: true });
  execFileSync('protoc', ['-I', path.dirname(file), `${flag}${into}`, path.basename(file)]);
}

/** The Go programs: a device plugin, a caller of Register, and a kubelet as a registrar meets it. */
export type GoPrograms = Readonly<Record<'plugin' | 'caller' | 'kubelet', Program>>;

/** Builds the Go programs of test/interop/go against the installed grpc-go, in a folder of their own. Takes seconds. */
export function buildGo(): GoPrograms {
  const work = tempDir();
  for (const [name, file] of Object.entries(APIS)) {
    generate(file, '--go_out=plugins=grpc:', path.join(work, 'go', 'src', 'pb', name));
  }
  const gopath = [path.join(work, 'go'), sources('go'), '/usr/share/gocode'].join(':');
  const env = { ...process.env, GO111MODULE: 'off', GOFLAGS: '', GOPATH: gopath };
  execFileSync('go', ['build', '-o', `${work}/`, 'interop/plugin', 'interop/caller', 'interop/kubelet'], {
    env: process.env['HOME'] === undefined ? { ...env, GOCACHE: path.join(work, 'cache') } : env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const program = (name: string): Program => ({ command: path.join(work, name), args: [], env: {} });
  return { plugin: program('plugin'), caller: program('caller'), kubelet: program('kubelet') };
}

/** A Python program of test/interop/python with the message classes that it and its neighbours import. */
export function python(name: string): Program {
  const work = tempDir();
  const files = [...Object.values(APIS), proto('csi', 'v1', 'csi.proto'), sources('python', 'status.proto')];
  for (const file of files) generate(file, '--python_out=', work);
  return {
    command: PYTHON ?? 'python3',
    args: [sources('python', name)],
    env: { PYTHONPATH: work, PYTHONDONTWRITEBYTECODE: '1' },
  };
}
