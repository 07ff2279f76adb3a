import { spawnSync } from 'node:child_process';

/** Debian's Python, before whatever else is called python3: the gRPC library belongs to it. */
export const PYTHON = ['/usr/bin/python3', 'python3'].find((name) =>
  succeeds(name, ['-c', 'import grpc, google.protobuf']),
);

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** The tools that plugins of one language need, and the Debian packages that bring them. */
const NEEDS = {
  go: {
    isThere: (): boolean =>
      succeeds('go', ['version']) &&
      succeeds('protoc', ['--version']) &&
      succeeds('sh', ['-c', 'command -v protoc-gen-go && test -d /usr/share/gocode/src/google.golang.org/grpc']),
    packages:
      'golang-go golang-google-grpc-dev golang-google-genproto-dev golang-goprotobuf-dev protobuf-compiler libprotobuf-dev',
  },
  cdi: {
    isThere: (): boolean =>
      succeeds('go', ['version']) &&
      succeeds('test', ['-d', '/usr/share/gocode/src/github.com/container-orchestrated-devices']),
    packages: 'golang-go golang-github-container-orchestrated-devices-container-device-interface-dev',
  },
  podman: {
    isThere: (): boolean => succeeds('podman', ['--version']) && succeeds('runc', ['--version']),
    packages: 'podman runc',
  },
  python: {
    isThere: (): boolean => PYTHON !== undefined && succeeds('protoc', ['--version']),
    packages: 'python3-grpcio python3-protobuf protobuf-compiler libprotobuf-dev',
  },
} as const;

/**
 * A reason to skip tests with programs of these languages, or false.
 *
 * @throws Error under CI, where a missing tool is a fault and nothing may be skipped
 */
export function missing(...languages: readonly (keyof typeof NEEDS)[]): string | false {
  const absent = languages.filter((language) => !NEEDS[language].isThere());
  if (absent.length === 0) return false;
  const packages = absent.map((language) => NEEDS[language].packages).join(' ');
  const reason = `SKIPPED: no ${absent.join(', no ')} with what is needed here; on Debian: apt-get install ${packages}`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  console.error(reason);
  return reason;
}
