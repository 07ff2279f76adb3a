// From the written form to the settings: pure, every problem at once. Whether the file has the right form was checked before;
// this file judges settings together, and against the machine.
import path from 'node:path';
import { CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN } from '../model/ids.js';
import type {
  AdmissionSettings,
  AllocatorSettings,
  FloodSettings,
  Paths,
  RegisterLimit,
  Settings,
  SocketSettings,
} from '../model/settings.js';
import type { FrontSettings } from '../model/front.js';
import type { HttpSettings } from '../model/http.js';
import type { ConfigForm, FloodForm, PlainSections } from './file-form.js';
import { frontProblems, pathProblems, resolvePaths } from './paths.js';
import { penaltyFigures } from './penalty.js';
import type { HostFacts } from './ports.js';
import type { ConfigProblem, KeyPath } from './problem.js';
import { durationMs, resolveSection, sizeBytes } from './units.js';

/** Types that a handler serves; a rule for another one would never match. */
const PLUGIN_TYPES: ReadonlySet<string> = new Set([DEVICE_PLUGIN, CSI_PLUGIN, DRA_PLUGIN]);

/** Settings, or their problems. */
export type Resolved =
  | { readonly settings: Settings; readonly problems: readonly [] }
  | { readonly settings: undefined; readonly problems: readonly ConfigProblem[] };

/**
 * Resolves a form.
 *
 * @param rootFlag the root given on the command line, if any
 * @param around facts of the machine
 */
export function resolveSettings(form: ConfigForm, rootFlag: string | undefined, around: HostFacts): Resolved {
  const problems: ConfigProblem[] = [];
  const plain = <K extends keyof PlainSections>(key: K): Settings[K] =>
    resolveSection<Settings[K]>(form[key] as never, [key], problems);
  const paths = resolvePaths(form.paths, rootFlag, around);
  problems.push(...pathProblems(paths, form.paths, rootFlag), ...frontProblems(paths, form.front));
  const settings: Settings = {
    paths,
    socket: resolveSocket(form.socket, problems),
    http: { ...form.http, listen: resolveListen(form.http.listen, problems) },
    admission: resolveAdmission(form, around, problems),
    guard: plain('guard'),
    discovery: plain('discovery'),
    flood: resolveFlood(form.flood, problems),
    timeouts: plain('timeouts'),
    grace: plain('grace'),
    liveness: plain('liveness'),
    restart: plain('restart'),
    checkpoint: plain('checkpoint'),
    allocator: resolveAllocator(form.allocator, problems),
    cdi: { dir: cdiDirectory(form.cdi.dir, paths, around), kind: form.cdi.kind },
    podResources: {
      enabled: form.podResources.enabled,
      upstream: form.podResources.upstream === 'off' ? undefined : path.resolve(paths.root, form.podResources.upstream),
    },
    front: resolveFront(form.front, problems),
    csi: {
      publish: form.csi.publish,
      nodeName: form.csi.nodeName === 'auto' ? around.nodeName : form.csi.nodeName,
      kubeconfig: form.csi.kubeconfig === 'auto' ? undefined : form.csi.kubeconfig,
    },
    log: form.log,
  };
  problems.push(...orderProblems(form), ...ruleProblems(form));
  return problems.length > 0 ? { settings: undefined, problems } : { settings: Object.freeze(settings), problems: [] };
}

function resolveFront(form: ConfigForm['front'], problems: ConfigProblem[]): FrontSettings {
  const { hold, speculateFor, ...rest } = form;
  const durations = resolveSection<{ readonly holdMs: number; readonly speculateForMs: number }>(
    { hold, speculateFor },
    ['front'],
    problems,
  );
  return { ...rest, ...durations };
}

function resolveAllocator(form: ConfigForm['allocator'], problems: ConfigProblem[]): AllocatorSettings {
  const { check, ...rest } = form;
  return { ...rest, ...resolveSection<{ readonly checkMs: number }>({ check }, ['allocator'], problems) };
}

/** Readers of CDI files look into /var/run/cdi; only root may write there. */
function cdiDirectory(written: string, paths: Paths, around: HostFacts): string | undefined {
  if (written === 'off') return undefined;
  if (written !== 'auto') return path.resolve(paths.root, written);
  return around.uid === 0 ? '/var/run/cdi' : path.join(paths.root, 'cdi');
}

/** The flood settings of a form; problems are added to `problems`. */
function resolveFlood(form: FloodForm, problems: ConfigProblem[]): FloodSettings {
  const { global, ...others } = form;
  const rest = { ...others, penalty: penaltyFigures(form.penalty) };
  return {
    ...resolveSection<Omit<FloodSettings, 'globalRegister'>>(rest, ['flood'], problems),
    globalRegister: resolveSection<RegisterLimit>(global.register, ['flood', 'global', 'register'], problems),
  };
}

function resolveAdmission(form: ConfigForm, around: HostFacts, problems: ConfigProblem[]): AdmissionSettings {
  const { allowUids, ...rest } = form.admission;
  if (allowUids !== 'any' && !around.knowsCallers()) {
    problems.push({
      path: ['admission', 'allowUids'],
      message: 'uids cannot be checked without the optional package koffi',
      remedy: 'install koffi, or write any',
    });
  }
  return {
    ...resolveSection<Omit<AdmissionSettings, 'allowUids'>>(rest, ['admission'], problems),
    allowUids: allowUids === 'any' ? undefined : allowUids,
  };
}

/** Permission of group and others to write, which connecting to a socket needs (unix(7)). */
const GROUP_WRITE = 0o020;

function resolveSocket({ mode, group }: ConfigForm['socket'], problems: ConfigProblem[]): SocketSettings {
  const bits = parseInt(mode, 8);
  if (group !== 'inherit' && (bits & GROUP_WRITE) === 0) {
    problems.push({
      path: ['socket', 'group'],
      against: [['socket', 'mode']],
      message: `the group ${String(group)} may not connect with socket.mode '${mode}', because connecting needs permission to write`,
      remedy: "write socket.mode: '0775' (or '0770'), or leave socket.group out",
    });
  }
  // YAML reads a number in quotes, as the mode beside it has to be written, as a text.
  const number = typeof group === 'string' && /^[0-9]+$/.test(group) ? Number(group) : group;
  return { mode: bits, group: number === 'inherit' ? undefined : number };
}

function resolveListen(listen: string, problems: ConfigProblem[]): HttpSettings['listen'] {
  if (listen === 'off') return undefined;
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):([0-9]{1,5})$/.exec(listen) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    problems.push({
      path: ['http', 'listen'],
      message: `${JSON.stringify(listen)} is not an address`,
      remedy: 'write host:port, [::1]:port, :port for all addresses, or off',
    });
    return undefined;
  }
  const host = bracketed ?? plain ?? '';
  return { host: host === '' ? '::' : host, port };
}

/** Pairs of which the first must not be longer or larger than the second. */
const IN_ORDER: readonly (readonly [less: KeyPath, more: KeyPath])[] = [
  [
    ['discovery', 'retryFirst'],
    ['discovery', 'retryMax'],
  ],
  [
    ['flood', 'penalty', 'quarantine'],
    ['flood', 'penalty', 'max'],
  ],
  [
    ['flood', 'connections', 'perProcess'],
    ['flood', 'connections', 'total'],
  ],
  [
    ['admission', 'maxMessageBytes'],
    ['admission', 'maxListBytesTotal'],
  ],
];

function orderProblems(form: ConfigForm): ConfigProblem[] {
  return IN_ORDER.flatMap(([lessPath, morePath]) => {
    const [less, more] = [valueAt(form, lessPath), valueAt(form, morePath)];
    if (magnitude(less) <= magnitude(more)) return [];
    return [
      {
        path: lessPath,
        against: [morePath],
        message: `${String(less)} is more than ${morePath.join('.')} (${String(more)})`,
        remedy: `lower it, or raise ${morePath.join('.')}`,
      },
    ];
  });
}

function ruleProblems(form: ConfigForm): ConfigProblem[] {
  return form.rules.flatMap((rule, index) => {
    const problems: ConfigProblem[] = [];
    const { name } = rule;
    if (name !== undefined && (name === 'flood' || form.rules.findIndex((other) => other.name === name) < index)) {
      problems.push({
        path: ['rules', index, 'name'],
        message: `${name} is the name of ${name === 'flood' ? 'the limits that hold without a rule' : 'a rule before it'}`,
        remedy: 'give it a name of its own',
      });
    }
    if (Object.keys(rule.match).length === 0) {
      problems.push({
        path: ['rules', index, 'match'],
        message: 'it names neither type nor name nor socket',
        remedy: "write name: '*' for a rule that is meant for every plugin",
      });
    }
    const { type } = rule.match;
    if (type !== undefined && /^\w+$/.test(type) && !PLUGIN_TYPES.has(type)) {
      problems.push({
        path: ['rules', index, 'match', 'type'],
        message: `no plugin has the type ${type}`,
        remedy: `write one of ${[...PLUGIN_TYPES].join(', ')}`,
      });
    }
    const flood = ['rules', index, 'flood'];
    for (const section of ['register', 'updates', 'penalty'] as const) {
      const written = rule.flood?.[section] ?? {};
      if (written !== 'off') resolveSection(written, [...flood, section], problems);
    }
    const { quarantine, max } = penaltyFigures(form.flood.penalty, rule.flood?.penalty);
    if (rule.flood?.penalty !== undefined && magnitude(quarantine) > magnitude(max)) {
      problems.push({
        path: [...flood, 'penalty'],
        against: [['flood', 'penalty']],
        message: `its quarantine (${quarantine}) is more than its max (${max})`,
        remedy: 'lower quarantine, or raise max',
      });
    }
    if (rule.grace !== undefined) resolveSection({ grace: rule.grace }, ['rules', index], problems);
    return problems;
  });
}

function valueAt(form: unknown, path: KeyPath): unknown {
  return path.reduce((value, key) => (value as Record<string | number, unknown>)[key], form);
}

function magnitude(written: unknown): number {
  if (typeof written === 'string') return durationMs(written) ?? sizeBytes(written) ?? 0;
  return typeof written === 'number' ? written : 0;
}
