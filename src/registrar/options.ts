// The flags of the registrar: those of node-driver-registrar with their meaning, and ours beyond them, which change
// nothing until they are given.
import type { FlagValue, GoFlag } from './go-flags.js';
import { formatGoDuration } from './go-values.js';

const text = (name: string, fallback: string, usage: string): GoFlag => ({ name, kind: 'string', fallback, usage });
const flag = (name: string, usage: string): GoFlag => ({ name, kind: 'bool', fallback: false, usage });
const int = (name: string, usage: string): GoFlag => ({ name, kind: 'int', fallback: 0, usage });
const time = (name: string, fallback: number, usage: string): GoFlag => ({ name, kind: 'duration', fallback, usage });

/** Flags of the original that mean something. */
const ORIGINAL = [
  text('csi-address', '/run/csi/socket', 'Socket of the CSI driver as seen from here: a path, or any gRPC target.'),
  text(
    'kubelet-registration-path',
    '',
    'Socket of the CSI driver as seen from the host; told to the kubelet as it is.',
  ),
  text('plugin-registration-path', '/registration', 'Directory in which the registration socket is made.'),
  time('timeout', 1000, 'Deadline of the query for the driver name, and of the GetInfo of a health check.'),
  time('connection-timeout', 0, 'Deprecated: has no effect.'),
  text('http-endpoint', '', 'Address of the HTTP server with /healthz, for example localhost:19809; empty: none.'),
  int('health-port', 'Deprecated, use --http-endpoint: port of /healthz on all interfaces.'),
  text('mode', '', 'Deprecated: kubelet-registration-probe ends at once with success.'),
  flag('enable-pprof', 'Serve /debug/pprof/ on the HTTP server.'),
  flag('automaxprocs', 'Accepted without effect: this program has one thread of work.'),
  flag('version', 'Print the version and exit.'),
  text('logging-format', 'text', 'text or json.'),
  time('log-flush-frequency', 5000, 'Accepted without effect: every line is written at once.'),
  int('v', 'Verbosity: 1 connections, 2 the name, 4 GetInfo, 5 everything.'),
  text('vmodule', '', 'Accepted without effect, with text logs only.'),
] as const satisfies readonly GoFlag[];

/** Alpha options of the original: it refuses other values than these defaults without a feature gate that it lacks. */
const GATED = [
  flag('log-text-split-stream', 'Alpha option of the original: only the default is taken.'),
  text('log-text-info-buffer-size', '0', 'Alpha option of the original: only the default is taken.'),
  flag('log-json-split-stream', 'Alpha option of the original: only the default is taken.'),
  text('log-json-info-buffer-size', '0', 'Alpha option of the original: only the default is taken.'),
] as const satisfies readonly GoFlag[];

const FORMER_USAGE = 'Flag of releases before 2.11: accepted without effect.';
/** Flags that old manifests still pass. */
const FORMER = [
  ...['logtostderr', 'alsologtostderr', 'skip_headers', 'skip_log_headers', 'add_dir_header', 'one_output'].map(
    (name) => flag(name, FORMER_USAGE),
  ),
  ...['stderrthreshold', 'log_dir', 'log_file', 'log_backtrace_at'].map((name) => text(name, '', FORMER_USAGE)),
  int('log_file_max_size', FORMER_USAGE),
];

/** Flags of ours. */
export const OWN_FLAGS = [
  flag('metrics', 'Serve /metrics on the HTTP server.'),
  flag('readyz', 'Serve /readyz on the HTTP server: 200 once the kubelet said that it registered the driver.'),
  flag('recreate-socket', 'Make the registration socket again when somebody removes it.'),
  text('on-driver-loss', 'ignore', 'Reaction to the end of the connection to the driver: ignore, or exit.'),
  time('name-query-retry', 0, 'How long a query for the driver name that failed is repeated; 0: never.'),
  {
    name: 'driver',
    kind: 'list',
    fallback: [],
    usage: 'A further driver, as CSI-ADDRESS=KUBELET-REGISTRATION-PATH; may be given more than once.',
  },
  text(
    'termination-log',
    '',
    'File that is told why the program ended with a failure, for example /dev/termination-log.',
  ),
] as const satisfies readonly GoFlag[];

/** All flags. */
export const REGISTRAR_FLAGS: readonly GoFlag[] = [...ORIGINAL, ...GATED, ...FORMER, ...OWN_FLAGS];

/** One driver to register. */
export interface DriverAddress {
  readonly csiAddress: string;
  readonly kubeletRegistrationPath: string;
}

/** The options of the registrar. */
export interface RegistrarOptions {
  readonly drivers: readonly DriverAddress[];
  readonly directory: string;
  readonly timeoutMs: number;
  readonly httpEndpoint: string;
  readonly isProbe: boolean;
  readonly enablePprof: boolean;
  readonly metrics: boolean;
  readonly readyz: boolean;
  readonly recreateSocket: boolean;
  readonly exitOnDriverLoss: boolean;
  readonly nameQueryRetryMs: number;
}

/** Text of a flag. */
export function textOf(values: ReadonlyMap<string, FlagValue>, name: string): string {
  return String(values.get(name) ?? '');
}

/** The problem of the logging flags, or undefined. Checked first, as the original does. */
export function loggingProblem(values: ReadonlyMap<string, FlagValue>): string | undefined {
  const format = textOf(values, 'logging-format');
  if (format !== 'text' && format !== 'json')
    return `--logging-format ${JSON.stringify(format)} is unknown: text or json`;
  if (format === 'json' && textOf(values, 'vmodule') !== '') return '--vmodule is for text logs only';
  const changed = GATED.find(({ name, fallback }) => values.get(name) !== fallback);
  return changed === undefined ? undefined : `--${changed.name} is an alpha option and cannot be changed`;
}

/** Flags that have no effect any more, with a sentence about each. */
export function idleFlags(values: ReadonlyMap<string, FlagValue>, given: ReadonlySet<string>): readonly string[] {
  const former = FORMER.map(({ name }) => name).filter((name) => given.has(name));
  const idle = former.length === 0 ? [] : [`accepted without effect: --${former.join(', --')}`];
  const timeout = Number(values.get('connection-timeout'));
  if (timeout !== 0) idle.push(`--connection-timeout ${formatGoDuration(timeout)} is deprecated and has no effect`);
  return idle;
}

/** The options, checked in the order of the original. @returns them, or the problem in one sentence */
export function registrarOptions(values: ReadonlyMap<string, FlagValue>): RegistrarOptions | string {
  const read = (name: string): string => textOf(values, name);
  const own = { csiAddress: read('csi-address'), kubeletRegistrationPath: read('kubelet-registration-path') };
  if (own.kubeletRegistrationPath === '') return '--kubelet-registration-path is required';
  const isProbe = read('mode') === 'kubelet-registration-probe';
  const healthPort = Number(values.get('health-port'));
  const httpEndpoint = read('http-endpoint');
  if (!isProbe && healthPort > 0 && httpEndpoint !== '') {
    return 'only one of --health-port and --http-endpoint may be given';
  }
  const further: DriverAddress[] = [];
  for (const pair of values.get('driver') as readonly string[]) {
    const equals = pair.lastIndexOf('=');
    if (equals < 1 || equals === pair.length - 1) {
      return `--driver ${JSON.stringify(pair)} is not CSI-ADDRESS=KUBELET-REGISTRATION-PATH`;
    }
    further.push({ csiAddress: pair.slice(0, equals), kubeletRegistrationPath: pair.slice(equals + 1) });
  }
  const onLoss = read('on-driver-loss');
  if (onLoss !== 'ignore' && onLoss !== 'exit') {
    return `--on-driver-loss ${JSON.stringify(onLoss)} is unknown: ignore or exit`;
  }
  return {
    drivers: [own, ...further],
    directory: read('plugin-registration-path'),
    timeoutMs: Number(values.get('timeout')),
    httpEndpoint: healthPort > 0 ? `:${healthPort}` : httpEndpoint,
    isProbe,
    enablePprof: values.get('enable-pprof') === true,
    metrics: values.get('metrics') === true,
    readyz: values.get('readyz') === true,
    recreateSocket: values.get('recreate-socket') === true,
    exitOnDriverLoss: onLoss === 'exit',
    nameQueryRetryMs: Number(values.get('name-query-retry')),
  };
}
