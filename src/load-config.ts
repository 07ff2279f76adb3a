// Wires the configuration: the one place that knows both its rules (config/) and its files (platform/config).
import type { Clock } from './kernel/clock.js';
import type { Log } from './kernel/log.js';
import type { EventSink } from './model/event.js';
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
  /** `live.settings` is as of start; the rest of it is asked each time it is needed, because a reload changes it. */
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
