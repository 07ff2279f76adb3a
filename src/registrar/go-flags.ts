// Command lines as Go's flag package reads them: `-x` and `--x` are equal, `--x=v` or `--x v`, booleans never take a
// second word, reading stops at the first word that is no flag. Pure.
import { formatGoDuration, parseGoBool, parseGoDuration, parseGoInt } from './go-values.js';

/** The value of a flag. A `list` collects all that are given; the others take the last. */
export type FlagKind = 'string' | 'bool' | 'int' | 'duration' | 'list';

/** One flag. */
export interface GoFlag {
  readonly name: string;
  readonly kind: FlagKind;
  readonly fallback: string | boolean | number | readonly string[];
  /** One line for the help. */
  readonly usage: string;
}

/** The value of one flag; durations are milliseconds. */
export type FlagValue = string | boolean | number | readonly string[];

/** How reading a command line ended. */
export type ParsedFlags =
  | {
      readonly ok: true;
      /** Every flag has its value here. */
      readonly values: ReadonlyMap<string, FlagValue>;
      /** Flags that were given. */
      readonly given: ReadonlySet<string>;
    }
  | { readonly ok: false; readonly isHelp: boolean; readonly message: string };

/** Reads a command line. */
export function parseGoFlags(flags: readonly GoFlag[], args: readonly string[]): ParsedFlags {
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const values = new Map<string, FlagValue>(flags.map(({ name, fallback }) => [name, fallback]));
  const given = new Set<string>();
  const fail = (message: string): ParsedFlags => ({ ok: false, isHelp: false, message });
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? '';
    if (word.length < 2 || !word.startsWith('-') || word === '--') break;
    const body = word.slice(word.startsWith('--') ? 2 : 1);
    if (body.startsWith('-') || body.startsWith('=')) return fail(`bad flag syntax: ${word}`);
    const equals = body.indexOf('=');
    const name = equals === -1 ? body : body.slice(0, equals);
    const flag = byName.get(name);
    if (flag === undefined) {
      if (name === 'help' || name === 'h') return { ok: false, isHelp: true, message: '' };
      return fail(`flag provided but not defined: -${name}`);
    }
    let text = equals === -1 ? undefined : body.slice(equals + 1);
    if (text === undefined && flag.kind === 'bool') text = 'true';
    if (text === undefined) {
      index += 1;
      text = args[index];
      if (text === undefined) return fail(`flag needs an argument: -${name}`);
    }
    const value = read(flag, text, values.get(name));
    if (value === undefined) {
      const what = flag.kind === 'bool' ? 'boolean value' : 'value';
      const where = flag.kind === 'bool' ? `-${name}` : `flag -${name}`;
      return fail(`invalid ${what} ${JSON.stringify(text)} for ${where}: parse error`);
    }
    values.set(name, value);
    given.add(name);
  }
  return { ok: true, values, given };
}

function read({ kind }: GoFlag, text: string, before: FlagValue | undefined): FlagValue | undefined {
  if (kind === 'bool') return parseGoBool(text);
  if (kind === 'int') return parseGoInt(text);
  if (kind === 'duration') return parseGoDuration(text);
  return kind === 'list' ? [...(before as readonly string[]), text] : text;
}

/** The help as Go prints it: flags by name, type, usage, default. */
export function goUsage(program: string, flags: readonly GoFlag[]): string {
  const lines = [...flags]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((flag) => {
      const type = flag.kind === 'bool' ? '' : ` ${flag.kind === 'list' ? 'value' : flag.kind}`;
      return `  -${flag.name}${type}\n    \t${flag.usage}${defaultText(flag)}\n`;
    });
  return `Usage of ${program}:\n${lines.join('')}`;
}

function defaultText({ kind, fallback }: GoFlag): string {
  if (fallback === '' || fallback === false || fallback === 0 || Array.isArray(fallback)) return '';
  if (typeof fallback === 'string') return ` (default ${JSON.stringify(fallback)})`;
  return ` (default ${kind === 'duration' ? formatGoDuration(Number(fallback)) : String(fallback)})`;
}
