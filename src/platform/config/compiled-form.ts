// The compiled form of the schema, as the daemon uses it: yes or no, defaults filled in, no package loaded. It knows the
// few words of JSON Schema that our schema is made of; a test holds it to the verdicts of zod and of ajv.
import type { ConfigForm } from '../../config/file-form.js';
import { defaultForm as generatedDefaults, formSchema } from '../../generated/config-schema.js';

/** The understood part of JSON Schema. */
export interface FormSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, FormSchema>>;
  readonly required?: readonly string[];
  /** Of a map: the schemas of its keys and its values. `false` for an object with named keys, which is closed in any case. */
  readonly propertyNames?: FormSchema;
  readonly additionalProperties?: FormSchema | false;
  readonly items?: FormSchema;
  readonly anyOf?: readonly FormSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The form of an empty file. */
export const defaultForm: ConfigForm = generatedDefaults as ConfigForm;

/** A copy of a document with all defaults filled in; undefined when it has not the form of a configuration. */
export function completeForm(document: unknown): ConfigForm | undefined {
  const complete = completed(formSchema as FormSchema, document);
  return complete === REFUSED ? undefined : (complete as ConfigForm);
}

const REFUSED = Symbol('refused');

function completed(schema: FormSchema, value: unknown): unknown {
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map((option) => completed(option, value)).find((result) => result !== REFUSED) ?? REFUSED;
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) return REFUSED;
  if (schema.const !== undefined && schema.const !== value) return REFUSED;
  if (schema.type === 'object') return completedObject(schema, value);
  if (schema.type === 'array') return completedList(schema, value);
  if (schema.type === 'boolean') return typeof value === 'boolean' ? value : REFUSED;
  if (schema.type === 'string') {
    return typeof value === 'string' && new RegExp(schema.pattern ?? '').test(value) ? value : REFUSED;
  }
  const isNumber = schema.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isNumber && isWithin(schema, value as number) ? value : REFUSED;
}

function isWithin({ minimum = -Infinity, maximum = Infinity }: FormSchema, value: number): boolean {
  return minimum <= value && value <= maximum;
}

function completedList({ items = {} }: FormSchema, value: unknown): unknown {
  if (!Array.isArray(value)) return REFUSED;
  const list = value.map((item: unknown) => completed(items, item));
  return list.includes(REFUSED) ? REFUSED : list;
}

/** Every object of ours is a map, or closed: a key that the schema does not name is refused. */
function completedObject(schema: FormSchema, value: unknown): unknown {
  const { properties = {}, required = [], propertyNames, additionalProperties } = schema;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return REFUSED;
  if (propertyNames !== undefined && typeof additionalProperties === 'object') {
    const entries = Object.entries(value).map(
      ([key, held]) => [completed(propertyNames, key), completed(additionalProperties, held)] as const,
    );
    return entries.some((entry) => entry.includes(REFUSED))
      ? REFUSED
      : Object.fromEntries(entries as [string, unknown][]);
  }
  const given = new Map<string, unknown>(Object.entries(value));
  if (required.some((key) => !given.has(key))) return REFUSED;
  const complete: [string, unknown][] = [];
  for (const [key, schema] of Object.entries(properties)) {
    const inner = given.has(key) ? given.get(key) : schema.default;
    given.delete(key);
    if (inner === undefined) continue;
    const result = completed(schema, inner);
    if (result === REFUSED) return REFUSED;
    complete.push([key, result]);
  }
  return given.size > 0 ? REFUSED : Object.fromEntries(complete);
}
