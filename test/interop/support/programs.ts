import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** APIs whose files are called the same, or that we made: Python imports them by their folders. */
const OWN_FOLDERS = [
  'pluginbroker/v1/allocator.proto',
  'podresources/v1/podresources.proto',
  'podresources/v1alpha1/podresources.proto',
];

/** Runs protoc for one API. `flag` says what to make of it and ends before the folder. */
function generate(file: string, flag: string, into: string): void {
  mkdirSync(into, { recursive: true });
  execFileSync('protoc', ['-I', path.dirname(file), `${flag}${into}`, path.basename(file)]);
}

/**
 * The Go programs: a device plugin, one that behaves as KubeVirt's, a caller of Register, a kubelet as a registrar meets it,
 * a client of PodResources, and one of health and reflection.
 */
export type GoPrograms = Readonly<Record<(typeof GO_PROGRAMS)[number], Program>>;

const GO_PROGRAMS = ['plugin', 'kubevirt', 'caller', 'kubelet', 'podresources', 'reflect'] as const;

/** Builds the Go programs of test/interop/go against the installed grpc-go, in a folder of their own. Takes seconds. */
export function buildGo(): GoPrograms {
  const work = tempDir();
  for (const [name, file] of Object.entries(APIS)) {
    generate(file, '--go_out=plugins=grpc:', path.join(work, 'go', 'src', 'pb', name));
  }
  // The installed generator is older than `optional`, which is the same on the wire.
  const plain = path.join(work, 'podresources.proto');
  writeFileSync(
    plain,
    readFileSync(proto('podresources', 'v1', 'podresources.proto'), 'utf8').replaceAll('optional string', 'string'),
  );
  generate(plain, '--go_out=plugins=grpc:', path.join(work, 'go', 'src', 'pb', 'podresources'));
  const gopath = [path.join(work, 'go'), sources('go'), '/usr/share/gocode'].join(':');
  const env = { ...process.env, GO111MODULE: 'off', GOFLAGS: '', GOPATH: gopath };
  execFileSync('go', ['build', '-o', `${work}/`, ...GO_PROGRAMS.map((name) => `interop/${name}`)], {
    env: process.env['HOME'] === undefined ? { ...env, GOCACHE: path.join(work, 'cache') } : env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const program = (name: string): Program => ({ command: path.join(work, name), args: [], env: {} });
  return Object.fromEntries(GO_PROGRAMS.map((name) => [name, program(name)])) as GoPrograms;
}

/** Builds the program that does what a container engine does with CDI names, against the installed library. */
export function buildCdiReader(): Program {
  const work = tempDir();
  execFileSync('go', ['build', '-o', `${work}/`, 'interop/cdi'], {
    env: { ...process.env, GO111MODULE: 'off', GOFLAGS: '', GOPATH: [sources('go'), '/usr/share/gocode'].join(':') },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return { command: path.join(work, 'cdi'), args: [], env: {} };
}

/** A Python program of test/interop/python with the message classes that it and its neighbours import. */
export function python(name: string): Program {
  const work = tempDir();
  const files = [...Object.values(APIS), proto('csi', 'v1', 'csi.proto'), sources('python', 'status.proto')];
  for (const file of files) generate(file, '--python_out=', work);
  for (const file of OWN_FOLDERS) {
    execFileSync('protoc', ['-I', proto(), `--python_out=${work}`, file]);
  }
  // Below a root of their own: a folder called grpc would stand before the library.
  for (const file of ['health/v1/health.proto', 'reflection/v1/reflection.proto']) {
    execFileSync('protoc', ['-I', proto('grpc'), `--python_out=${work}`, file]);
  }
  return {
    command: PYTHON ?? 'python3',
    args: [sources('python', name)],
    env: { PYTHONPATH: work, PYTHONDONTWRITEBYTECODE: '1' },
  };
}
