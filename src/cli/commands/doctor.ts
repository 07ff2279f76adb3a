// `doctor`
import { release } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { ifPossible } from '../../kernel/if-possible.js';
import { visible } from '../../kernel/visible.js';
import type { Settings } from '../../model/settings.js';
import type { StatusView } from '../../model/views.js';
import { AdminFailure, Unreachable } from '../../platform/grpc/admin-failure.js';
import { loadLibc } from '../../platform/peer/libc.js';
import { waitForNoDirectory } from '../../platform/process/ending.js';
import { ownUid } from '../../platform/process/own-uid.js';
import { systemClock } from '../../platform/time/system-clock.js';
import type { ConfigReader } from '../config-reader.js';
import { checkAccess } from '../doctor/access.js';
import { checkDaemon, checkKernel, checkNativeCalls } from '../doctor/daemon.js';
import { checkCdi, checkDirectories, checkPathLengths } from '../doctor/directories.js';
import { finding, KUBELET_DEVICE_PLUGINS, type Finding, type Scope, type Verdict } from '../doctor/finding.js';
import { checkFront } from '../doctor/front.js';
import { checkHttp } from '../doctor/http.js';
import { checkDescriptors, checkInotify } from '../doctor/limits.js';
import { statusAt } from '../doctor/looks.js';
import { checkFuse, checkMounts, checkReach } from '../doctor/reach.js';
import { checkOwnSockets, checkPluginSockets } from '../doctor/sockets.js';
import { CliError, EXIT } from '../exit.js';
import { counted } from '../../kernel/counted.js';
import { visibleJson } from '../output/text.js';
import { painter, type Paint, type Tone } from '../output/tones.js';
import { rootOfEnvironment } from '../../model/root.js';
import { clientOf, withOutput, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

const TONES: Readonly<Record<Verdict, Tone>> = { ok: 'good', warn: 'warn', fail: 'bad' };

interface DoctorOptions extends OutputOptions {
  readonly config?: string;
  readonly root?: string;
}

/** Adds the command. */
export function addDoctor(program: Command, terminal: Terminal, readConfig: ConfigReader): void {
  withOutput(program.command('doctor'))
    .summary('check directories, sockets, limits and how plugins reach us')
    .description(
      'Checks the needs of the daemon on this machine, with remedies: config, directories, sockets, mounts, limits of the kernel, and how plugins reach it. Run it as the user of the daemon.',
    )
    .option('--config <file>', 'YAML file with the settings, as given to serve (default: that of the daemon)')
    .option('--root <dir>', 'root directory, as given to serve (default: $PLUGIN_BROKER_ROOT, or that of the config)')
    .action(async (options: DoctorOptions) => {
      // A check in a directory whose lock somebody holds is to say so.
      waitForNoDirectory(systemClock);
      const findings = await examine(options, terminal, readConfig);
      if (options.output === 'json') terminal.write(`${visibleJson({ checks: findings }, false)}\n`);
      else terminal.write(report(findings, painter(terminal.hasColours)));
      const failed = findings.filter(({ verdict }) => verdict === 'fail').length;
      if (failed > 0) throw new CliError(EXIT.failed, `${counted(failed, 'check')} failed`);
    });
}

async function examine(
  options: DoctorOptions,
  terminal: Terminal,
  readConfig: ConfigReader,
): Promise<readonly Finding[]> {
  const name = options.config ?? 'the defaults';
  const root = options.root ?? rootOfEnvironment(process.env);
  const read = await readConfig(options.config, root);
  const defaults = await readConfig(undefined, root);
  const usable = read.ok ? read : defaults;
  const config = read.ok
    ? [finding('config', 'ok', `${name} can be used`)]
    : read.problems.map((problem) => finding('config', 'fail', problem));
  if (!usable.ok) return config;
  if (read.ok) config.push(...checkRules(read.warnings));
  const scope = await scopeOf(usable.settings, terminal);
  const file = scope.daemon?.policy.source ?? '';
  // Where no file is named, the one of the daemon counts: with the defaults a mistake in it would not be seen.
  if (options.config === undefined && path.isAbsolute(file)) {
    return examine({ ...options, config: file, root: usable.settings.paths.root }, terminal, readConfig);
  }
  return [...config, ...(await examineMachine(scope))];
}

/** The warnings of `check-config`, shown where operators look for problems; one sentence each. */
function checkRules(warnings: readonly string[]): readonly Finding[] {
  if (warnings.length === 0)
    return [finding('rules', 'ok', 'the shipped rules are in force, and every rule can take effect')];
  return warnings.map((warning) => finding('rules', 'warn', warning));
}

/** All checks of the machine, in the order in which they are shown. */
export async function examineMachine(scope: Scope): Promise<readonly Finding[]> {
  const fuse = checkFuse(scope);
  if (fuse.some(({ verdict }) => verdict === 'fail')) return [...checkDaemon(scope), ...fuse];
  return [
    ...checkDaemon(scope),
    ...checkDirectories(scope),
    ...checkCdi(scope),
    ...checkPathLengths(scope),
    ...(await checkOwnSockets(scope)),
    ...checkAccess(scope),
    ...checkHttp(scope),
    ...(await checkPluginSockets(scope)),
    ...checkMounts(scope),
    ...fuse,
    ...checkInotify(scope),
    ...checkDescriptors(scope),
    ...checkNativeCalls(scope),
    ...checkKernel(scope),
    ...(await checkReach(scope)),
    ...(await checkFront(scope)),
  ];
}

async function scopeOf(settings: Settings, terminal: Terminal): Promise<Scope> {
  const address = settings.paths.brokerSocket;
  let daemon: StatusView | undefined;
  let whyNoDaemon = '';
  try {
    daemon = await clientOf({ address }, terminal).status(true);
  } catch (failure) {
    if (!(failure instanceof Unreachable) && !(failure instanceof AdminFailure)) throw failure;
    whyNoDaemon = failure.message;
  }
  const uid = daemon === undefined ? ownUid() : (ifPossible(() => statusAt(address))?.uid ?? ownUid());
  const hasNativeCalls = loadLibc() !== undefined;
  const place = { proc: '/proc', fuseConf: '/etc/fuse.conf', kubeletDevicePlugins: KUBELET_DEVICE_PLUGINS };
  return { settings, ...place, uid, daemon, whyNoDaemon, hasNativeCalls, kernel: release() };
}

/** One line for each finding. */
function report(findings: readonly Finding[], paint: Paint): string {
  return findings
    .map(({ name, verdict, message }) => `${paint(TONES[verdict], verdict.padEnd(4))}  ${name}: ${visible(message)}\n`)
    .join('');
}
