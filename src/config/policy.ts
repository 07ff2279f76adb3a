// Rules over defaults: which policy a plugin has. First match wins (docs/specification.md#configuration).
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
import { durationMs, resolveSection } from './units.js';

/** Answers remembered at most; beyond it all are forgotten and worked out again. */
const MEMO_LIMIT = 4096;

interface CompiledRule {
  readonly type: Matches;
  readonly name: Matches;
  readonly socket: Matches;
  readonly flood: FloodPolicy;
  readonly rule: RuleForm;
}

/** What the policies of all plugins are made of. */
export interface PolicyParts {
  readonly flood: FloodSettings;
  readonly floodForm: PluginFloodForm;
  readonly rules: readonly RuleForm[];
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
    this.#rules ??= this.#parts.rules.map((rule) => this.#compileRule(rule));
    const index = this.#rules.findIndex((rule) => rule.type(type) && rule.name(name) && rule.socket(socket));
    const matched = this.#rules[index];
    const ownGrace = matched?.rule.grace === undefined ? undefined : durationMs(matched.rule.grace);
    return Object.freeze({
      rule: matched === undefined ? undefined : index,
      flood: matched?.flood ?? this.flood,
      floodSource: matched?.rule.flood === undefined ? 'flood' : `rules[${index}].flood`,
      duplicates: matched?.rule.duplicates ?? 'newest',
      reattach: matched?.rule.reattach ?? 'stream',
      graceMs: ownGrace ?? this.#graceOf(type),
      uids: matched?.rule.uids,
      allocate: allocateOf(matched?.rule),
    });
  }

  #compileRule(rule: RuleForm): CompiledRule {
    const { type, name, socket } = rule.match;
    const any: Matches = () => true;
    return {
      type: type === undefined ? any : this.#compile(type, 'name'),
      name: name === undefined ? any : this.#compile(name, 'name'),
      socket: socket === undefined ? any : this.#compile(socket, 'socket'),
      flood: rule.flood === undefined ? this.flood : floodOf(rule, this.#parts.floodForm),
      rule,
    };
  }

  #graceOf(type: string): number {
    const { deviceMs, csiMs, draMs } = this.#parts.grace;
    return type === CSI_PLUGIN ? csiMs : type === DRA_PLUGIN ? draMs : deviceMs;
  }
}

function allocateOf(rule: RuleForm | undefined): AllocatePolicy {
  const { uids, max, consumer, env } = rule?.allocate ?? {};
  return { uids, max, consumer, env: new Map(Object.entries(env ?? {})) };
}

/** The flood policy of a rule: what it says, over the defaults, key by key. */
function floodOf(rule: RuleForm, defaults: PluginFloodForm): FloodPolicy {
  return resolveSection<FloodPolicy>(
    {
      mode: rule.flood?.mode ?? defaults.mode,
      register: { ...defaults.register, ...rule.flood?.register },
      updates: { ...defaults.updates, ...rule.flood?.updates },
      penalty: penaltyFigures(defaults.penalty, rule.flood?.penalty),
    },
    ['rules'],
    [],
  );
}
