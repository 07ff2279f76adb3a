// Finds the plugin an operator means. Names are `name` or `type/name`, as events spell it. Pure.
import type { PluginId } from '../model/ids.js';
import { pluginKey } from '../model/ids.js';
import { problem, answer, type Answer, type Problem } from '../model/answer.js';
import { nearNames } from './near-names.js';

/** A `type/name` text in its two parts. Types have no slash, names may. */
export function splitPluginKey(key: string): PluginId {
  const slash = key.indexOf('/');
  return { type: key.slice(0, Math.max(slash, 0)), name: key.slice(slash + 1) };
}

/** Whether a plugin is the one that a given `name` or `type/name` means. */
export function isMeant(given: string, plugin: PluginId): boolean {
  return plugin.name === given || pluginKey(plugin) === given;
}

/**
 * The one plugin that is meant.
 *
 * @param given `name` or `type/name`
 * @param type narrows it; empty for any
 * @param known all plugins there are; repeated ones count once
 */
export function resolvePlugin(given: string, type: string, known: readonly PluginId[]): Answer<PluginId> {
  if (given === '') return problem('INVALID_ARGUMENT', 'the name of a plugin is missing');
  const fits = known.filter((plugin) => isMeant(given, plugin) && (type === '' || plugin.type === type));
  const distinct = new Map(fits.map((plugin) => [pluginKey(plugin), plugin]));
  const [first] = distinct.values();
  if (first === undefined) return { ok: false, problem: unknownName('plugin', given, type, known) };
  if (distinct.size === 1) return answer({ type: first.type, name: first.name });
  const types = [...distinct.values()].map((plugin) => plugin.type).sort();
  return problem('INVALID_ARGUMENT', `${given} is the name of ${types.join(' and ')}; say which with --type`);
}

/** The sentence for a name that nothing has. */
export function unknownName(kind: string, given: string, type: string, known: readonly PluginId[]): Problem {
  const what = `no ${kind} is called ${type === '' ? '' : `${type}/`}${given}`;
  const near = nearNames(
    given,
    known.map((plugin) => plugin.name),
  );
  if (near.length > 0) return { code: 'NOT_FOUND', message: `${what}; did you mean ${near.join(', ')}?` };
  const hint = known.length === 0 ? `there is no ${kind} at all` : `\`plugin-broker ${kind}s\` lists those there are`;
  return { code: 'NOT_FOUND', message: `${what}; ${hint}` };
}
