// Checks whether the daemon is running and well, and can identify its callers.
import { counted } from '../../kernel/counted.js';
import { finding, type Finding, type Scope } from './finding.js';

/** The daemon on this root. */
export function checkDaemon({ daemon, whyNoDaemon }: Scope): readonly Finding[] {
  if (daemon === undefined) return [finding('daemon', 'warn', whyNoDaemon)];
  const { broker } = daemon;
  const is = `plugin-broker ${broker.version} (pid ${broker.pid}) is ${broker.phase} with ${counted(daemon.plugins.length, 'plugin')}`;
  if (broker.problems.length === 0) return [finding('daemon', 'ok', is)];
  return broker.problems.map((problem) => finding('daemon', 'fail', `${is}: ${problem}`));
}

/** Without koffi the kernel cannot be asked which process is behind a connection. */
export function checkNativeCalls({ hasNativeCalls, settings }: Scope): readonly Finding[] {
  if (hasNativeCalls) {
    return [finding('callers', 'ok', 'koffi is there: the process behind each connection is known')];
  }
  const state = 'koffi cannot be loaded, so the processes behind connections are not known';
  if (settings.admission.allowUids !== undefined) {
    return [
      finding(
        'callers',
        'fail',
        `${state}, and admission.allowUids cannot be kept; install koffi, or remove allowUids`,
      ),
    ];
  }
  const rest =
    'the owner of a socket file stands in for its listener, flood.connections counts all connections together, and only the own user gets leases';
  return [finding('callers', 'warn', `${state}: ${rest}; install koffi for more`)];
}
