// Does the configuration say what will do nothing, or leave out what is shipped for plugins that need it?
import { finding, type Finding } from './finding.js';

/**
 * The warnings of `check-config`, where somebody looks for what is wrong.
 *
 * @param warnings one sentence each
 */
export function checkRules(warnings: readonly string[]): readonly Finding[] {
  if (warnings.length === 0)
    return [finding('rules', 'ok', 'the shipped rules are in force, and every rule can take effect')];
  return warnings.map((warning) => finding('rules', 'warn', warning));
}
