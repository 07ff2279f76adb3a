// Does a list of rules of one's own leave out what is shipped for plugins that need it?
import { isDeepStrictEqual } from 'node:util';
import type { Written } from '../config-reader.js';
import { finding, type Finding } from './finding.js';

/**
 * A list in a file replaces the shipped one as a whole. Whoever writes one for the sake of a single plugin is told what
 * the others lose by it.
 *
 * @param own every key of the file with its value
 * @param shipped the same of the defaults
 */
export function checkRules(own: Written, shipped: Written): readonly Finding[] {
  const missing = shipped.rules.filter(({ match }) => !own.rules.some((rule) => isDeepStrictEqual(rule.match, match)));
  if (missing.length === 0) return [finding('rules', 'ok', 'the rules that are shipped are in force')];
  const listed = missing.map(({ match, reattach }) => `{match: ${JSON.stringify(match)}, reattach: ${reattach}}`);
  return [
    finding(
      'rules',
      'warn',
      `your list replaces the shipped one and leaves out rules for plugins that do not bear a second ListAndWatch: ` +
        `unless you mean it, add ${listed.join(', ')}`,
    ),
  ];
}
