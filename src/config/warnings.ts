// Settings that have no effect, or that take away something needed: the configuration can be used all the same. Pure.
import { isDeepStrictEqual } from 'node:util';
import { CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN } from '../model/ids.js';
import type { Paths } from '../model/settings.js';
import type { ConfigForm, RuleForm } from './file-form.js';
import type { CompileGlob } from './ports.js';
import type { ConfigProblem, KeyPath } from './problem.js';
import { shippedRules } from './shipped-rules.js';

const TYPES = [DEVICE_PLUGIN, CSI_PLUGIN, DRA_PLUGIN];
/** How long a held call waits at most where nothing is written. */
const DEFAULT_MAX_DELAY = '1s';

/**
 * Everything in a form that has no effect, or lets plugins down that a shipped rule is for.
 *
 * @param paths as resolved: sockets elsewhere are never seen
 */
export function configWarnings(form: ConfigForm, paths: Paths, compile: CompileGlob): readonly ConfigProblem[] {
  return [
    ...delayWarnings(form),
    ...form.rules.flatMap((rule, index) => ruleWarnings(rule, index, form, paths, compile)),
    ...lostRules(form),
  ];
}

function ruleWarnings(
  rule: RuleForm,
  index: number,
  form: ConfigForm,
  paths: Paths,
  compile: CompileGlob,
): readonly ConfigProblem[] {
  const path = ['rules', index, 'match'];
  const { type, name, socket } = rule.match;
  const warnings: ConfigProblem[] = [];
  const nothing = (key: string, why: string, remedy: string): void =>
    void warnings.push({ path: [...path, key], message: `it can match nothing: ${why}`, remedy });
  const types = TYPES.filter((one) => type === undefined || compile(type, 'name')(one));
  if (types.length === 0) nothing('type', `no type is like ${type ?? ''}`, `write one of ${TYPES.join(', ')}`);
  if (name !== undefined && /\s/.test(name)) nothing('name', 'no name has spaces', 'leave them out');
  else if (
    name !== undefined &&
    isLiteral(name) &&
    !name.includes('/') &&
    types.length === 1 &&
    types[0] === DEVICE_PLUGIN
  ) {
    nothing('name', 'resources are named domain/resource', `write ${name}/* or */${name}`);
  }
  if (socket !== undefined && isElsewhere(socket, paths)) {
    nothing(
      'socket',
      'sockets are looked for in other directories',
      `begin with ${paths.devicePlugins}/ or **/, or name the file alone`,
    );
  }
  if (Object.keys(rule).every((key) => key === 'match' || key === 'name')) {
    warnings.push({
      path: ['rules', index],
      message: 'it names plugins and sets nothing for them',
      remedy: 'add a setting that differs, or remove it',
    });
  }
  if (rule.allocate !== undefined && types.length > 0 && !types.includes(DEVICE_PLUGIN)) {
    warnings.push({
      path: ['rules', index, 'allocate'],
      message: `it has no effect: only plugins of type ${DEVICE_PLUGIN} have devices`,
      remedy: 'remove it',
    });
  }
  const before = form.rules.slice(0, index).findIndex((other) => covers(other, rule));
  if (before !== -1) {
    warnings.push({
      path: ['rules', index],
      message: `it has no effect, because rules[${before}] matches the same and says all that it says`,
      remedy: 'remove one of them, or put this one first',
    });
  }
  return warnings;
}

/** Rules of a file that would match a plugin of this name at some sockets alone, as they are called. */
export function rulesBySocket(
  { rules }: ConfigForm,
  type: string,
  name: string,
  compile: CompileGlob,
): readonly string[] {
  const isLike = (glob: string | undefined, text: string): boolean => glob === undefined || compile(glob, 'name')(text);
  return rules.flatMap(({ match, name: called }, index) =>
    match.socket !== undefined && isLike(match.type, type) && isLike(match.name, name)
      ? [called ?? `rules[${index}]`]
      : [],
  );
}

function isLiteral(glob: string): boolean {
  return !/[*?[\]{}()!+@]/.test(glob);
}

/** Whether an absolute pattern begins in no directory that is watched. */
function isElsewhere(pattern: string, paths: Paths): boolean {
  if (!pattern.startsWith('/')) return false;
  const head = pattern.split('/').slice(0, -1);
  const fixed = head
    .slice(
      0,
      head.findIndex((part) => !isLiteral(part)) === -1 ? undefined : head.findIndex((part) => !isLiteral(part)),
    )
    .join('/');
  const seen = [paths.devicePlugins, paths.pluginsRegistry, paths.plugins];
  return !seen.some((directory) => `${directory}/`.startsWith(`${fixed}/`) || `${fixed}/`.startsWith(`${directory}/`));
}

/** Whether an earlier rule leaves nothing for a later one to say. */
function covers(earlier: RuleForm, later: RuleForm): boolean {
  return isDeepStrictEqual(earlier.match, later.match) && leaves(later).every((leaf) => leaves(earlier).includes(leaf));
}

function leaves({ match: _, name: __, ...says }: RuleForm): readonly string[] {
  const walk = (value: unknown, at: string): readonly string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, below]) => walk(below, `${at}.${key}`))
      : [at];
  return walk(says, '');
}

/** `maxDelay` is how long a call is held, and only `delay` holds one. */
function delayWarnings({ flood, rules }: ConfigForm): readonly ConfigProblem[] {
  const found: ConfigProblem[] = [];
  const look = (path: KeyPath, onExceed: string, maxDelay: string | undefined, isWritten: boolean): void => {
    if (onExceed === 'delay' || !isWritten) return;
    found.push({
      path: [...path, 'maxDelay'],
      message: `${maxDelay ?? ''} has no effect with onExceed: ${onExceed}, which holds no call`,
      remedy: 'remove it, or write onExceed: delay',
    });
  };
  for (const [path, limit] of [
    [['flood', 'register'], flood.register],
    [['flood', 'global', 'register'], flood.global.register],
  ] as const) {
    look(path, limit.onExceed, limit.maxDelay, limit.maxDelay !== DEFAULT_MAX_DELAY);
  }
  for (const [index, { flood: own }] of rules.entries()) {
    const { onExceed = flood.register.onExceed, maxDelay } = own?.register ?? {};
    look(['rules', index, 'flood', 'register'], onExceed, maxDelay, maxDelay !== undefined);
  }
  return found;
}

function lostRules({ rules, shippedRules: shipped }: ConfigForm): readonly ConfigProblem[] {
  if (shipped === 'on') return [];
  const lost = shippedRules.filter(({ match }) => !rules.some((rule) => isDeepStrictEqual(rule.match, match)));
  if (lost.length === 0) return [];
  const names = lost.map(({ name }) => name).join(', ');
  return [
    {
      path: ['shippedRules'],
      message: `plugins that do not bear a second ListAndWatch lose their rules: ${names}`,
      remedy: 'take it out unless you mean it: your own rules come before the shipped ones anyway',
    },
  ];
}
