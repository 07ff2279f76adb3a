// The verdict on each style of simulated plugin, scenario by scenario, and its evidence.

/** The form of a verdict: passed unless it begins with `failed` or `skipped`; the evidence matches. */
export interface Expected {
  readonly verdict: 'passed' | 'failed' | 'skipped';
  readonly evidence: RegExp;
}

/** A style of plugin. */
export interface Style {
  readonly what: string;
  /** Options of `sim device`. */
  readonly options: readonly string[];
  /** The scenario that tells it from the others. */
  readonly telling: string;
  /** Where it differs from a well-behaved plugin. */
  readonly differs: Readonly<Record<string, Expected>>;
}

const passed = (evidence: RegExp): Expected => ({ verdict: 'passed', evidence });
const failed = (evidence: RegExp): Expected => ({ verdict: 'failed', evidence });
const skipped = (evidence: RegExp): Expected => ({ verdict: 'skipped', evidence });

/** A well-behaved plugin at the Register door. */
export const WELL_BEHAVED: Readonly<Record<string, Expected>> = {
  'first-list': passed(/^example\.com\/sim with 2 healthy devices .* after the start$/),
  'restart-clean': passed(/^registered again .* after the registry's return, and sent its list$/),
  'restart-nowipe': passed(/^served again .* after the registry's return, .*; after the second return /),
  'restart-kill': passed(/^served again .* after the registry's return, .*; after the second return /),
  'sock-only': passed(
    /^(did not register again|registered once|restarted itself), and its devices were there all the time$/,
  ),
  allocate: passed(/^answered for dev-0 and dev-1 with the same meaning three times, and 20 calls at once$/),
  prestart: skipped(/^it offers neither PreStartContainer nor GetPreferredAllocation$/),
  'late-socket': passed(/^registered each of 5 times, at the latest .* after kubelet\.sock appeared$/),
  'dir-recreate': passed(/^registered again .* after the directory was back$/),
  'unlink-only': passed(/^registered a new socket .* later$/),
  'stream-break': passed(
    /^its devices came 20 times, the slowest list \d+ ms after its stream was opened; not tested: whether a change of its list still arrives, because it never made one$/,
  ),
  refuse: passed(/^was refused once within 5 s, and was served .* after the last refusal$/),
  'notify-false': skipped(/^it is about the watched directory, and this plugin calls Register$/),
  hang: passed(/^waited for the answer, and was served .* after its first call$/),
  overlap: passed(/^the second took over, the first ended, and its devices were there all the time$/),
  frozen: passed(/^found after .*, served again .* after SIGCONT$/),
  reboot: passed(/^served .* after the registry's return, not before it had answered$/),
};

const NO_SOCKET = failed(/^it went on without its socket for 15 s: a registry that restarts now cannot find it/);

const UNNOTICED = passed(/; what it does when its socket is removed, because it does not notice that at all$/);

/** Plugins as they are in the field, by what they watch. */
export const STYLES: readonly Style[] = [
  {
    what: 'that watches for the creation of kubelet.sock',
    options: ['--watch', 'create'],
    telling: 'unlink-only',
    differs: { 'unlink-only': NO_SOCKET, 'stream-break': UNNOTICED },
  },
  {
    what: 'that watches for the removal of kubelet.sock',
    options: ['--watch', 'remove'],
    telling: 'unlink-only',
    differs: { 'unlink-only': NO_SOCKET, 'stream-break': UNNOTICED },
  },
  {
    what: 'that watches its own socket',
    options: ['--watch', 'own-socket'],
    telling: 'sock-only',
    differs: { 'sock-only': passed(/^did not register again, /) },
  },
  {
    what: 'that looks for its own socket every second',
    options: ['--watch', 'poll'],
    telling: 'unlink-only',
    differs: { 'sock-only': passed(/^did not register again, /) },
  },
  {
    what: 'that never watches anything',
    options: ['--watch', 'never'],
    telling: 'restart-clean',
    differs: {
      'restart-clean': failed(/^it did not register again within 10 s, although its socket was deleted/),
      'restart-nowipe': passed(
        /^served again .* without having to register; after the second return .* without having to register$/,
      ),
      'sock-only': passed(/^did not register again, /),
      'dir-recreate': failed(/^it did not register a new socket within 15 s: the old one is gone with its directory/),
      'unlink-only': NO_SOCKET,
      'stream-break': UNNOTICED,
    },
  },
  {
    what: 'that exits when its registration is refused',
    options: ['--on-refused', 'exit'],
    telling: 'refuse',
    differs: {
      // A registry that starts from nothing removes all sockets. A plugin that has just made its own may be refused for that.
      'late-socket': passed(
        /^registered each of 5 times, at the latest .* after kubelet\.sock appeared( \(it ended by itself (once|twice|\d+ times) and was started again\))?$/,
      ),
      refuse: passed(
        /^was refused (once|twice|\d+ times) within 5 s, .* \(it ended by itself (once|twice|\d+ times) and was started again\)$/,
      ),
    },
  },
  {
    what: 'that hangs after plugin_registered=false',
    options: ['--door', 'watcher', '--on-notify-false', 'hang'],
    telling: 'notify-false',
    differs: {
      'sock-only': skipped(/^it is about Register, and this plugin waits in the watched directory$/),
      'late-socket': passed(/^registered each of 5 times, at the latest .* after the registry began to look$/),
      'notify-false': failed(
        /^it was told that it is not registered, and for 15 s neither could be registered nor exited$/,
      ),
    },
  },
];
