// Where things are when nobody says otherwise (docs/specification.md#files).

/** The inputs of the default root: the effective uid and two variables of the environment. */
export interface RootFacts {
  readonly uid: number;
  readonly home: string;
  /** $XDG_STATE_HOME; relative ones are ignored, as the XDG base directory specification asks. */
  readonly xdgStateHome: string | undefined;
}

/** The root directory where neither a flag nor the config names one: absolute. */
export function defaultRoot(facts: RootFacts): string {
  if (facts.uid === 0) return '/var/lib/plugin-broker';
  const stateHome = facts.xdgStateHome?.startsWith('/') === true ? facts.xdgStateHome : `${facts.home}/.local/state`;
  return `${stateHome.replace(/\/+$/, '')}/plugin-broker`;
}

/** `PLUGIN_BROKER_ROOT`, which stands for `--root` where that is not given; undefined where it is not set, or to nothing. */
export function rootOfEnvironment(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const root = environment['PLUGIN_BROKER_ROOT'];
  return root === '' ? undefined : root;
}

/** The longest path that fits a unix socket address, in bytes of UTF-8 (sockaddr_un without its closing NUL). */
export const LONGEST_SOCKET_PATH = 107;
