// Checks whether the daemon is running and well, and can identify its callers.
import { counted } from '../../kernel/counted.js';
import { unmappedUid } from '../../platform/peer/unmapped.js';
import { finding, type Finding, type Scope } from './finding.js';

/** The daemon on this root. */
export function checkDaemon({ daemon, whyNoDaemon }: Scope): readonly Finding[] {
  if (daemon === undefined) return [finding('daemon', 'warn', whyNoDaemon)];
  const { broker } = daemon;
  const is = `plugin-broker ${broker.version} (pid ${broker.pid}) is ${broker.phase} with ${counted(daemon.plugins.length, 'plugin')}`;
  if (broker.problems.length === 0) return [finding('daemon', 'ok', is)];
  return broker.problems.map((problem) => finding('daemon', 'fail', `${is}: ${problem}`));
}

/** Linux refuses descriptors that a peer passes since then, where it is told to (SO_PASSRIGHTS; platform/peer/passed-descriptors). */
const REFUSING = [6, 16] as const;

/** Whoever may connect to a socket of the broker can pass it a descriptor whose last close lasts as long as its sender likes. */
export function checkKernel({ kernel, hasNativeCalls }: Scope): readonly Finding[] {
  const [major = 0, minor = 0] = kernel.split('.', 2).map(Number.parseFloat);
  const isNew = major > REFUSING[0] || (major === REFUSING[0] && minor >= REFUSING[1]);
  if (isNew && hasNativeCalls)
    return [finding('descriptors', 'ok', `Linux ${kernel} refuses descriptors that callers and plugins pass`)];
  const why = isNew ? 'without koffi' : `on Linux ${kernel}`;
  const remedy = `let only users that you trust write to its sockets${isNew ? ', or install koffi' : ', or run Linux 6.16 or later'}`;
  return [
    finding(
      'descriptors',
      'warn',
      `${why} a caller or a plugin can pass the broker a descriptor that takes as long to close as it likes, and hold the broker up with it; ${remedy}`,
    ),
  ];
}

/** Without koffi the kernel cannot be asked which process is behind a connection; in a user namespace it names some users alike. */
export function checkNativeCalls({ hasNativeCalls, settings, proc }: Scope): readonly Finding[] {
  if (hasNativeCalls) {
    const unmapped = unmappedUid(proc);
    if (unmapped === undefined)
      return [finding('callers', 'ok', 'koffi is there: the process behind each connection is known')];
    const all = `this user namespace does not know all users of the machine, and shows the others as uid ${String(unmapped)}`;
    const what = 'the broker cannot tell them apart, and refuses their plugins and their requests for devices';
    return [finding('callers', 'warn', `${all}: ${what}; run it in the user namespace of its plugins`)];
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
