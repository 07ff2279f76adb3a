// The configuration in force: the part that is settled at start, and the part that a reload may replace while the daemon runs.
import type { FrontSettings } from '../model/front.js';
import type { PolicyView } from '../model/views.js';
import type {
  AdmissionSettings,
  Consumer,
  FloodSettings,
  LivenessSettings,
  LogSettings,
  PluginPolicy,
  PolicySource,
  Settings,
} from '../model/settings.js';
import type { ConfigForm } from './file-form.js';
import { RulePolicy } from './policy.js';
import type { CompileGlob, Matches, HostFacts } from './ports.js';
import { resolveSettings } from './resolve.js';
import { globsThroughLinks } from './socket-globs.js';

/** One configuration, resolved and ready to be used. */
export interface Generation {
  readonly form: ConfigForm;
  readonly settings: Settings;
  readonly policy: PolicySource;
  readonly nameAllowed: (name: string) => boolean;
  /** Whether a resource is to be offered to the kubelet, as far as its name says. */
  readonly isFronted: (name: string) => boolean;
}

/**
 * Makes a generation of a form that was found right.
 *
 * @throws Error when the form has problems: those must have been asked for before
 */
export function makeGeneration(
  form: ConfigForm,
  rootFlag: string | undefined,
  around: HostFacts,
  compile: CompileGlob,
): Generation {
  const { settings, problems } = resolveSettings(form, rootFlag, around);
  if (settings === undefined) throw new Error(`a form with ${problems.length} problems cannot be used`);
  const { rules, shippedRules } = form;
  const parts = { flood: settings.flood, floodForm: form.flood, rules, shippedRules, grace: settings.grace };
  return {
    form,
    settings,
    policy: new RulePolicy(parts, globsThroughLinks(compile, settings.paths, around.realDirectory)),
    nameAllowed: nameCheck(settings.admission.allowNames, settings.admission.denyNames, compile),
    isFronted: frontCheck(settings.front, compile),
  };
}

/** Whether a name matches one of the allowed globs and none of the denied ones. */
function nameCheck(
  allowed: readonly string[],
  denied: readonly string[],
  compile: CompileGlob,
): (name: string) => boolean {
  const compiled = (globs: readonly string[]): Matches[] => globs.map((glob) => compile(glob, 'name'));
  let globs: { readonly allow: readonly Matches[]; readonly deny: readonly Matches[] } | undefined;
  return (name) => {
    globs ??= { allow: compiled(allowed), deny: compiled(denied) };
    return globs.allow.some((matches) => matches(name)) && !globs.deny.some((matches) => matches(name));
  };
}

function frontCheck({ enabled, resources, exclude }: FrontSettings, compile: CompileGlob): (name: string) => boolean {
  return enabled ? nameCheck(resources, exclude, compile) : () => false;
}

/**
 * The part of a new form that a running daemon can take: flood policy, rules, admission, grace, liveness and log level are new;
 * settings baked into open sockets, servers and files stay as they were at start.
 */
export function takeWhileRunning(current: ConfigForm, next: ConfigForm): ConfigForm {
  const { streams } = current.flood.connections;
  return {
    ...current,
    flood: { ...next.flood, connections: { ...next.flood.connections, streams } },
    rules: next.rules,
    shippedRules: next.shippedRules,
    admission: { ...next.admission, maxMessageBytes: current.admission.maxMessageBytes },
    grace: next.grace,
    liveness: next.liveness,
    log: { ...current.log, level: next.log.level },
  };
}

/** The policy as every stage sees it: always the newest. Stages read it when they decide and keep nothing of it. */
export class LiveConfig implements PolicySource {
  /** As of start: the settings baked into sockets, servers and files. */
  readonly settings: Settings;
  readonly #source: string;
  readonly #listeners = new Set<() => void>();
  #current: Generation;
  #loadedAt: string;
  #error = '';

  constructor(first: Generation, source: string, loadedAt: string) {
    this.settings = first.settings;
    this.#current = first;
    this.#source = source;
    this.#loadedAt = loadedAt;
  }

  get flood(): FloodSettings {
    return this.#current.policy.flood;
  }

  policyFor(type: string, name: string, socket: string): PluginPolicy {
    return this.#current.policy.policyFor(type, name, socket);
  }

  nameAllowed(name: string): boolean {
    return this.#current.nameAllowed(name);
  }

  /** The consumer of a resource's devices, as the configuration says now. */
  consumerOf(type: string, name: string, socket: string): Consumer {
    const fronted = this.#current.isFronted(name);
    return this.policyFor(type, name, socket).allocate.consumer ?? (fronted ? 'kubelet' : 'local');
  }

  get admission(): AdmissionSettings {
    return this.#current.settings.admission;
  }

  get liveness(): LivenessSettings {
    return this.#current.settings.liveness;
  }

  get logLevel(): LogSettings['level'] {
    return this.#current.settings.log.level;
  }

  /** The generation in force. */
  get current(): Generation {
    return this.#current;
  }

  /** The policy as `status` shows it. `error` stays until a good file is read. */
  view(): PolicyView {
    return { source: this.#source, loadedAt: this.#loadedAt, error: this.#error };
  }

  /** Calls `listener` after each replacement. The returned function ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Puts a new generation in force, at once and as a whole. */
  replace(next: Generation, loadedAt: string): void {
    this.#current = next;
    this.confirm(loadedAt);
    for (const listener of this.#listeners) listener();
  }

  /** The file was read, is good, and changes nothing. */
  confirm(loadedAt: string): void {
    this.#loadedAt = loadedAt;
    this.#error = '';
  }

  /** A file could not be used: the configuration in force stays, and the reason is shown. */
  reject(error: string): void {
    this.#error = error;
  }
}
