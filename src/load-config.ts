// Wires the configuration: the one place that knows both its rules (config/) and its files (platform/config).
import type { Clock } from './kernel/clock.js';
import type { Log } from './kernel/log.js';
import type { EventSink } from './model/event.js';
import type { PluginPolicy, Settings } from './model/settings.js';
import type { ConfigForm } from './config/file-form.js';
import { LiveConfig } from './config/live-config.js';
import { loadGeneration } from './config/load-config.js';
import { PolicyReload, type ReloadOutcome } from './config/policy-reload.js';
import { watchConfigFile } from './platform/config/config-watch.js';
import { compileGlob } from './platform/config/globs.js';
import { surroundings } from './platform/config/surroundings.js';
import { defaultSource, yamlFile } from './platform/config/yaml-file.js';

/** Where the configuration comes from; both from the command line. */
export interface ConfigFlags {
  readonly configFile?: string | undefined;
  readonly root?: string | undefined;
}

/** The configuration of a running daemon. */
export interface LoadedConfig {
  /** As of start. What a reload can change is read from `live` each time it is needed. */
  readonly settings: Settings;
  readonly live: LiveConfig;
  /**
   * Follows the file until closed. `reload` is for SIGHUP; without a file it changes nothing and says so.
   */
  follow(parts: FollowParts): Promise<FollowedConfig>;
}

/** What following needs. */
export interface FollowParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
}

/** A configuration that is being followed. */
export interface FollowedConfig {
  /** Never rejects. */
  reload(cause: string): Promise<ReloadOutcome>;
  close(): Promise<void>;
}

/**
 * Loads the configuration.
 *
 * @param clock gives the time at which the policy was loaded
 * @throws ConfigInvalid with every problem and its place
 */
export async function loadSettings(flags: ConfigFlags, clock: Clock): Promise<LoadedConfig> {
  const source = flags.configFile === undefined ? defaultSource : yamlFile(flags.configFile);
  const around = surroundings();
  const first = await loadGeneration(source, flags.root, around, compileGlob);
  const live = new LiveConfig(first, source.name, new Date(clock.wall()).toISOString());
  const { file } = source;
  return {
    settings: first.settings,
    live,
    follow: async (parts) => {
      const reload = new PolicyReload({ ...parts, source, live, rootFlag: flags.root, around, compile: compileGlob });
      const onChange = (): void => void reload.reload('the file changed');
      const close =
        file === undefined
          ? () => Promise.resolve()
          : await watchConfigFile({ file, clock: parts.clock, log: parts.log, onChange });
      return { reload: (cause) => reload.reload(cause), close };
    },
  };
}

/** One plugin's effective policy, and the rule that set it. */
export interface ExplainedPolicy {
  /** `rules[2]`, or `defaults`. */
  readonly source: string;
  /** The globs of that rule; empty for the defaults. */
  readonly match: Readonly<Record<string, string>>;
  readonly policy: PluginPolicy;
}

/** What `check-config` shows. */
export interface CheckedConfig {
  readonly settings: Settings;
  /** Every key with its effective value, as it would be written. */
  readonly effective: ConfigForm;
  policyOf(type: string, name: string, socket: string): ExplainedPolicy;
}

/**
 * Checks a file as the daemon would.
 *
 * @throws ConfigInvalid with every problem and its place
 */
export async function checkConfig(flags: ConfigFlags): Promise<CheckedConfig> {
  const source = flags.configFile === undefined ? defaultSource : yamlFile(flags.configFile);
  const { form, settings, policy } = await loadGeneration(source, flags.root, surroundings(), compileGlob);
  return {
    settings,
    effective: form,
    policyOf: (type, name, socket) => {
      const found = policy.policyFor(type, name, socket);
      const rule = found.rule === undefined ? undefined : form.rules[found.rule];
      return {
        source: found.rule === undefined ? 'defaults' : `rules[${found.rule}]`,
        match: { ...rule?.match },
        policy: found,
      };
    },
  };
}
