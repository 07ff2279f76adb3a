// The configuration as serve.ts puts it together, for tests.
import { LiveConfig } from '../../src/config/live-config.js';
import { loadGeneration } from '../../src/config/load-config.js';
import type { FormSource } from '../../src/config/ports.js';
import { PolicyReload, type ReloadOutcome } from '../../src/config/policy-reload.js';
import { silentLog } from './silence.js';
import { watchConfigFile } from '../../src/platform/config/config-watch.js';
import { compileGlob } from '../../src/platform/config/globs.js';
import { hostFacts } from '../../src/platform/config/host-facts.js';
import { defaultSource, yamlFile } from '../../src/platform/config/yaml-file.js';
import { systemClock } from '../../src/platform/time/system-clock.js';

/** A configuration that is being followed. */
export interface FollowedConfig {
  readonly live: LiveConfig;
  reload(): Promise<ReloadOutcome>;
  close(): Promise<void>;
}

/**
 * Loads a file, or the defaults, below the root /r.
 *
 * @throws ConfigInvalid
 */
export async function loadLive(file?: string, source = sourceOf(file)): Promise<LiveConfig> {
  return new LiveConfig(await loadGeneration(source, '/r', hostFacts(), compileGlob), source.name, 'at start');
}

const sourceOf = (file: string | undefined): FormSource => (file === undefined ? defaultSource : yamlFile(file));

/** Loads it and follows the file. `between` runs after the file was read, before it is watched. */
export async function followConfig(file?: string, between = (): void => undefined): Promise<FollowedConfig> {
  const source = sourceOf(file);
  const live = await loadLive(file, source);
  between();
  const reload = new PolicyReload({
    source,
    live,
    rootFlag: '/r',
    around: hostFacts(),
    compile: compileGlob,
    clock: systemClock,
    log: silentLog,
    events: { record: () => undefined },
  });
  const onChange = (): void => void reload.reload('the file changed');
  const close =
    file === undefined
      ? () => Promise.resolve()
      : await watchConfigFile({ file, clock: systemClock, log: silentLog, onChange, seen: source.looks() });
  return { live, reload: () => reload.reload('SIGHUP'), close };
}
