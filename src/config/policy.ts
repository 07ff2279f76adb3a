// Rules over defaults: which policy a plugin has. For each key the first rule that matches and says it
// (docs/specification.md#configuration).
import { CSI_PLUGIN, DRA_PLUGIN } from '../model/ids.js';
import type {
  AllocatePolicy,
  FloodPolicy,
  FloodSettings,
  PluginPolicy,
  PolicySource,
  Settings,
} from '../model/settings.js';
import type { PluginFloodForm, RuleForm } from './file-form.js';
import { penaltyFigures } from './penalty.js';
import type { CompileGlob, Matches } from './ports.js';
import { shippedRules } from './shipped-rules.js';
import { durationMs, resolveSection } from './units.js';

/** Answers remembered at most; beyond it all are forgotten and worked out again. */
const MEMO_LIMIT = 4096;

/** A rule with its name: its own, or its place in the file. */
interface CalledRule {
  readonly called: string;
  readonly rule: RuleForm;
}

interface CompiledRule extends CalledRule {
  readonly type: Matches;
  readonly name: Matches;
  readonly socket: Matches;
}

/** The sources of all plugins' policies. */
export interface PolicyParts {
  readonly flood: FloodSettings;
  readonly floodForm: PluginFloodForm;
  /** Those of the file. */
  readonly rules: readonly RuleForm[];
  /** Whether the shipped ones come after them. */
  readonly shippedRules: 'on' | 'off';
  readonly grace: Settings['grace'];
}

/** The policy of one configuration. Immutable: a reload makes a new one. */
export class RulePolicy implements PolicySource {
  readonly flood: FloodSettings;
  readonly #parts: PolicyParts;
  readonly #compile: CompileGlob;
  readonly #memo = new Map<string, PluginPolicy>();
  #rules: readonly CompiledRule[] | undefined;

  constructor(parts: PolicyParts, compile: CompileGlob) {
    this.flood = parts.flood;
    this.#parts = parts;
    this.#compile = compile;
  }

  policyFor(type: string, name: string, socket: string): PluginPolicy {
    const key = `${type}\0${name}\0${socket}`;
    const known = this.#memo.get(key);
    if (known !== undefined) return known;
    if (this.#memo.size >= MEMO_LIMIT) this.#memo.clear();
    const policy = this.#decide(type, name, socket);
    this.#memo.set(key, policy);
    return policy;
  }

  #decide(type: string, name: string, socket: string): PluginPolicy {
    // Compiled with the first question, so that starting does not wait for it.
    this.#rules ??= inForce(this.#parts).map((rule) => this.#compileRule(rule));
    const matched = this.#rules.filter((rule) => rule.type(type) && rule.name(name) && rule.socket(socket));
    const first = <K extends keyof RuleForm>(key: K): RuleForm[K] | undefined =>
      matched.find(({ rule }) => rule[key] !== undefined)?.rule[key];
    const floods = matched.filter(({ rule }) => rule.flood !== undefined);
    const ownGrace = first('grace');
    return Object.freeze({
      rules: matched.map(({ called }) => called),
      flood: floods.length === 0 ? this.flood : floodOf(floods, this.#parts.floodForm),
      floodSource: floods[0] === undefined ? 'flood' : sourceOf(floods[0]),
      duplicates: first('duplicates') ?? 'newest',
      reattach: first('reattach') ?? 'stream',
      graceMs: (ownGrace === undefined ? undefined : durationMs(ownGrace)) ?? this.#graceOf(type),
      uids: first('uids'),
      allocate: allocateOf(matched),
    });
  }

  #compileRule({ called, rule }: CalledRule): CompiledRule {
    const { type, name, socket } = rule.match;
    const any: Matches = () => true;
    return {
      type: type === undefined ? any : this.#compile(type, 'name'),
      name: name === undefined ? any : this.#compile(name, 'name'),
      socket: socket === undefined ? any : this.#compile(socket, 'socket'),
      called,
      rule,
    };
  }

  #graceOf(type: string): number {
    const { deviceMs, csiMs, draMs } = this.#parts.grace;
    return type === CSI_PLUGIN ? csiMs : type === DRA_PLUGIN ? draMs : deviceMs;
  }
}

/** The rules of the file and after them the shipped ones, unless those are off. */
function inForce({ rules, shippedRules: shipped }: PolicyParts): readonly CalledRule[] {
  const own = rules.map((rule, index) => ({ called: rule.name ?? `rules[${index}]`, rule }));
  return shipped === 'off' ? own : [...own, ...shippedRules.map((rule) => ({ called: `shipped ${rule.name}`, rule }))];
}

/** The name of a rule's limits where they are shown. */
function sourceOf({ called, rule }: CalledRule): string {
  return rule.name === undefined ? `${called}.flood` : called;
}

/** Values by key, of the first that says it. */
function firstOf<T extends object>(given: readonly (T | undefined)[]): Partial<T> {
  const merged: Partial<T> = {};
  for (const one of given.toReversed()) Object.assign(merged, one);
  return merged;
}

function allocateOf(matched: readonly CalledRule[]): AllocatePolicy {
  const { uids, max, consumer, env } = firstOf(matched.map(({ rule }) => rule.allocate));
  return { uids, max, consumer, env: new Map(Object.entries(env ?? {})) };
}

/** The flood policy of the rules that say something about it, first ones first, over the defaults, key by key. */
function floodOf(matched: readonly CalledRule[], defaults: PluginFloodForm): FloodPolicy {
  const floods = matched.map(({ rule }) => rule.flood ?? {});
  const penalties = floods.flatMap(({ penalty }) => (penalty === undefined ? [] : [penalty]));
  const end = penalties.indexOf('off');
  // `off` ends the penalty of the rules: those before it give figures, those after it are not asked.
  const figures = penalties.slice(0, end === -1 ? undefined : end).filter((one) => one !== 'off');
  const penalty = end === 0 ? 'off' : firstOf(figures);
  return resolveSection<FloodPolicy>(
    {
      mode: floods.find(({ mode }) => mode !== undefined)?.mode ?? defaults.mode,
      register: { ...defaults.register, ...firstOf(floods.map(({ register }) => register)) },
      updates: { ...defaults.updates, ...firstOf(floods.map(({ updates }) => updates)) },
      penalty: penaltyFigures(end > 0 ? 'off' : defaults.penalty, penalty),
    },
    ['rules'],
    [],
  );
}
