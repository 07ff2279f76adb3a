// The forms in which a command gives its result: for people, or for programs.
import { visibleInJson } from '../../kernel/visible.js';
import { visibleJson } from './text.js';

/** table, wide (all columns): for people; name: one a line, for a shell; yaml, json: everything, for programs. */
export type OutputFormat = 'table' | 'wide' | 'name' | 'yaml' | 'json';

/** Whether it is for programs. */
export function isForPrograms(format: string): boolean {
  return format === 'json' || format === 'yaml';
}

/**
 * A value for programs.
 *
 * @param isStream whether more documents follow: JSON stands on one line then, and YAML begins with `---`
 */
export async function documentText(value: unknown, format: string, isStream: boolean): Promise<string> {
  if (format !== 'yaml') return `${visibleJson(value, isStream)}\n`;
  const { stringify } = await import('yaml');
  // Readers of YAML 1.1 take an unquoted `off` for false.
  const plain = stringify(value, { lineWidth: 0, version: '1.1' });
  // JSON is YAML: characters that must not reach a terminal are written as escapes.
  const text = visibleInJson(plain) !== plain ? `${visibleJson(value, false)}\n` : plain;
  return isStream ? `---\n${text}` : text;
}

/** Names one a line, each once. */
export function namesText(names: Iterable<string>): string {
  return [...new Set(names)].map((name) => `${name}\n`).join('');
}
