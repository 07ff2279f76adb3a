// Reads the configuration for the command line: wires the config stage to its adapters, all loaded only when needed.
import type { ConfigReader } from './cli/config-reader.js';

/** Reads a file or the defaults. */
export const readConfig: ConfigReader = async (file, root) => {
  const [
    { loadGeneration },
    { ConfigInvalid, problemText },
    { yamlFile, defaultSource },
    { hostFacts },
    globs,
    { configWarnings, rulesBySocket },
    d,
    { defaultForm },
  ] = await Promise.all([
    import('./config/load-config.js'),
    import('./config/problem.js'),
    import('./platform/config/yaml-file.js'),
    import('./platform/config/host-facts.js'),
    import('./platform/config/globs.js'),
    import('./config/warnings.js'),
    import('./config/diff.js'),
    import('./platform/config/compiled-form.js'),
  ]);
  const source = file === undefined ? defaultSource : yamlFile(file);
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
};
