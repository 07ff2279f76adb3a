// Reads the configuration for the command line: wires the config stage to its adapters, all loaded only when needed.
import type { ConfigReader, ReadConfig } from './cli/config-reader.js';
import type { FormSource } from './config/ports.js';

/** Reads a file or the defaults. */
export const readConfig: ConfigReader = async (file, root) => {
  const { yamlFile, defaultSource } = await import('./platform/config/yaml-file.js');
  return readSource(file === undefined ? defaultSource : yamlFile(file), root);
};

/** The same for any source. @param root a root directory that counts more than the source's */
export async function readSource(source: FormSource, root: string | undefined): Promise<ReadConfig> {
  const { file } = source;
  const [
    { loadGeneration },
    { ConfigInvalid, problemText },
    { hostFacts },
    globs,
    { configWarnings, rulesBySocket },
    d,
    { defaultForm },
  ] = await Promise.all([
    import('./config/load-config.js'),
    import('./config/problem.js'),
    import('./platform/config/host-facts.js'),
    import('./platform/config/globs.js'),
    import('./config/warnings.js'),
    import('./config/diff.js'),
    import('./platform/config/compiled-form.js'),
  ]);
  try {
    const { form, settings, policy } = await loadGeneration(source, root, hostFacts(), globs.compileGlob);
    const found = configWarnings(form, settings.paths, globs.compileGlob);
    const warnings = found.map((one) => problemText(one, file));
    const changed = d.diffForms(defaultForm, form).filter(({ key }) => !key.startsWith('rules')).length;
    return {
      ok: true,
      written: { ...form },
      changed,
      warnings,
      settings,
      policy,
      rulesBySocket: (type, name) => rulesBySocket(form, type, name, globs.compileGlob),
    };
  } catch (failure) {
    if (!(failure instanceof ConfigInvalid)) throw failure;
    return { ok: false, problems: failure.problems.map((problem) => problemText(problem, failure.file)) };
  }
}
