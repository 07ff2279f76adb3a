// The record of a run: one JSON object a line, as it happens. Report, summary, baseline and comparison are made from it,
// at once or later. `t` is milliseconds since the beginning of the scenario `s`. Readers pass over kinds they do not know.
import * as z from 'zod';
import { VERDICT_CODES, type VerdictCode } from './verdict.js';

/** The version of the form below, in the first line of each run. */
const RECORD_VERSION = 1;

const text = z.string();
const ms = z.number().int().describe('Milliseconds since the beginning of the scenario');
const scenario = text.describe('Name of the scenario');
const lane = z.enum(['broker', 'plugin', 'second', 'socket', 'kubelet-sock', 'stream']);
const code = z.enum(Object.keys(VERDICT_CODES) as [VerdictCode, ...VerdictCode[]]);

const line = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, what: string, shape: Shape) =>
  z.object({ kind: z.literal(kind), ...shape }).describe(what);

/** Every kind of line. */
export const recordLine = z.discriminatedUnion('kind', [
  line('run', 'First line of a run, written when the plugin came up, or did not', {
    v: z.literal(RECORD_VERSION),
    tool: text.describe('Version of plugin-broker'),
    at: text.describe('When it began, RFC 3339'),
    command: z.array(text).describe('The command of the plugin as it was given, with its names in braces'),
    profile: z.enum(['broker', 'kubelet']).describe('The registry by whose behaviour the plugin is judged'),
    label: text.describe('The name of the run where several are compared, such as a version of the plugin'),
    resources: z.array(text).default([]).describe('Names of its resources and drivers; empty where none came up'),
    door: z.enum(['register', 'watcher']).optional().describe('Where it registers; absent where it never did'),
  }),
  line('begin', 'A scenario begins', {
    s: scenario,
    at: text.describe('When, RFC 3339'),
    does: text,
    passesWhen: text,
    run: z.number().int().describe('1, or which repetition it is'),
  }),
  line('span', 'Something is there from now on, or is not any more', {
    s: scenario,
    t: ms,
    lane,
    id: text.describe('Process id, file name of a socket, or a name that tells two of them apart'),
    is: z.enum(['up', 'down']),
    how: text.describe('How it ended; empty where that is not known'),
  }),
  line('call', 'A plugin asked to be registered, or its registration socket was asked', {
    s: scenario,
    t: ms,
    door: z.enum(['register', 'watcher']),
    resource: text,
    fate: z.enum(['passed', 'refused', 'held', 'denied']),
    ms: z.number().int().default(0).describe('Milliseconds for which verify holds it; 0: it is decided at once'),
  }),
  line('devices', 'The devices of one plugin as the broker would tell them to a node, each time they change', {
    s: scenario,
    t: ms,
    resource: text,
    capacity: z.number().int(),
    allocatable: z.number().int(),
    state: text,
    reason: text,
  }),
  line('event', 'An event of the broker, as events -o json prints it', {
    s: scenario,
    t: ms,
    event: z.object({
      time: text.default('').describe('RFC 3339'),
      seq: z.number().int().optional().describe('Absent where the broker only counts it among equal ones'),
      ...{ type: text, reason: text, plugin: text, socket: text, message: text },
    }),
  }),
  line('note', 'An act of verify, or the fate of a process of the plugin', {
    s: scenario,
    t: ms,
    who: z.enum(['verify', 'plugin', 'broker']),
    what: text,
  }),
  line('log', 'The output of a process; of long output the middle is left out, and a line says so', {
    s: scenario,
    t: ms,
    from: z.enum(['plugin', 'second', 'broker']),
    stream: z.enum(['out', 'err']).default('out'),
    text,
  }),
  line('verdict', 'A scenario is over', {
    s: scenario,
    t: ms,
    verdict: z.enum(['passed', 'failed', 'skipped']),
    code,
    seconds: z.number(),
    evidence: text,
    at: z.array(z.number().int()).describe('The moments that decided, as milliseconds since the beginning'),
    warn: z.boolean().describe('The caller asked that this scenario does not fail the run'),
  }),
]);

/** One line of a record. */
export type RecordLine = z.infer<typeof recordLine>;
/** The line of one kind. */
export type RecordOf<Kind extends RecordLine['kind']> = Extract<RecordLine, { kind: Kind }>;

/** A file that cannot be read as a record, and the line. */
export class RecordProblem extends Error {
  override readonly name = 'RecordProblem';
}

/**
 * Reads a record.
 *
 * @param text the file's content; a last line that was cut off is left out, as the run may have been killed
 * @param name of the file, for the error
 * @returns its lines without those of kinds that this version does not know
 * @throws RecordProblem with the line that is wrong
 */
export function parseRecord(text: string, name: string): readonly RecordLine[] {
  const lines = text.split('\n');
  const isCut = lines.at(-1) !== '';
  const parsed = lines.flatMap((raw, index): readonly RecordLine[] => {
    if (raw === '') return [];
    const where = `${name}, line ${index + 1}`;
    const value = jsonOf(raw);
    if (value === undefined) {
      if (isCut && index === lines.length - 1) return [];
      throw new RecordProblem(`${where}: this is no JSON object; a record is what verify --events wrote`);
    }
    const kind = 'kind' in value ? value.kind : undefined;
    if (kind === 'run' && 'v' in value && typeof value.v === 'number' && value.v > RECORD_VERSION) {
      throw new RecordProblem(
        `${where}: the record is of a newer version (${value.v}); use the plugin-broker that wrote it`,
      );
    }
    if (typeof kind !== 'string' || !KINDS.has(kind)) return [];
    const checked = recordLine.safeParse(value);
    if (checked.success) return [checked.data];
    const [issue] = checked.error.issues;
    throw new RecordProblem(`${where}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'cannot be read'}`);
  });
  if (!parsed.some(({ kind }) => kind === 'run')) {
    throw new RecordProblem(`${name} holds no run; a record is what verify --events wrote`);
  }
  return parsed;
}

const KINDS: ReadonlySet<string> = new Set(recordLine.options.map(({ shape }) => shape.kind.value));

function jsonOf(raw: string): object | undefined {
  try {
    const value = JSON.parse(raw) as unknown;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON Schema of one line, for programs that read records. */
export function recordSchema(): object {
  return {
    title: 'One line of a plugin-broker verify record',
    ...z.toJSONSchema(recordLine, { io: 'output' }),
  };
}
