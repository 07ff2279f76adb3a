// Why a document is not a configuration: zod's issues, in sentences with the key, the expected value and the remedy.
import type { ConfigForm } from '../../config/file-form.js';
import type { KeyPath, ConfigProblem } from '../../config/problem.js';
import { jsonSchema, parseForm } from './file-schema.js';

/** A key that is taken out may leave its section without one that it must have: as often as sections can be nested. */
const MOST_ROUNDS = 8;

type Issue = NonNullable<ReturnType<typeof parseForm>['error']>['issues'][number];

/** The part of a JSON Schema that is looked at for suggestions. */
interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly default?: unknown;
  readonly enum?: readonly string[];
}

/** Every problem of a document, in the order of the schema. Empty when it has the right form. */
export function explainForm(document: unknown): ConfigProblem[] {
  const { error } = parseForm(document);
  if (error === undefined) return [];
  const schema = jsonSchema() as SchemaNode;
  return error.issues.flatMap((issue) => explainIssue(issue, document, schema));
}

/**
 * The form of a document without its wrong keys, so that problems between its other settings are found in the same look. Items of
 * lists are never taken out alone: the others keep their indexes.
 *
 * @param problems of the document's form
 * @returns undefined where nothing is left that has the form
 */
export function restOf(document: unknown, problems: readonly ConfigProblem[]): ConfigForm | undefined {
  const rest = structuredClone(document);
  let wrong = problems;
  for (let round = 0; round < MOST_ROUNDS && wrong.length > 0; round += 1) {
    const removals = wrong.map(({ path }) => removalOf(rest, path));
    for (const remove of removals) {
      if (remove === undefined) return undefined;
      remove();
    }
    const { data } = parseForm(rest);
    if (data !== undefined) return data;
    wrong = explainForm(rest);
  }
  return undefined;
}

/** Takes out the key of a path, or the section in which it is missing; undefined where that is the whole document. */
function removalOf(document: unknown, path: KeyPath): (() => void) | undefined {
  let value = document;
  let removal: (() => void) | undefined;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) break;
    const section = value;
    if (typeof key === 'string') removal = (): void => void Reflect.deleteProperty(section, key);
    value = (value as Record<string | number, unknown>)[key];
  }
  return removal;
}

const keyOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : String(key));

function explainIssue(issue: Issue, document: unknown, schema: SchemaNode): ConfigProblem[] {
  const inSection = sectionIssues(issue, document);
  if (inSection.length > 0) return inSection.flatMap((inner) => explainIssue(inner, document, schema));
  const path = issue.path.map(keyOf);
  const node = nodeAt(schema, path);
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(node?.properties ?? {});
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: 'there is no such key',
      remedy: suggestion(key, known) ?? `remove it; known here: ${known.join(', ')}`,
    }));
  }
  const given = valueAt(document, path);
  if (given === undefined) return [{ path, message: 'it is missing', remedy: `write ${issue.message}` }];
  return [
    { path, message: `${shown(given)} is not ${issue.message}`, remedy: remedyFor(given, node, path, issue.message) },
  ];
}

/** The issues inside a section that could also be the word `off`. */
function sectionIssues(issue: Issue, document: unknown): Issue[] {
  if (issue.code !== 'invalid_union') return [];
  const given = valueAt(document, issue.path.map(keyOf));
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return [];
  return (issue.errors.at(-1) ?? []).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

function remedyFor(given: unknown, node: SchemaNode | undefined, path: KeyPath, expected: string): string {
  const near = typeof given === 'string' ? suggestion(given, node?.enum ?? []) : undefined;
  if (near !== undefined) return near;
  if (path.length === 0) return 'write keys and values, or {} for the defaults';
  const standard = node?.default;
  const isScalar = (typeof standard === 'string' && standard !== '') || typeof standard === 'number';
  if (given === null) return `write ${expected}, or remove the key${isScalar ? ` for the default ${standard}` : ''}`;
  return isScalar ? `write one, or remove the key for the default ${standard}` : 'write one, or remove the key';
}

/** `did you mean …` where one of the known words is near. */
function suggestion(word: string, known: readonly string[]): string | undefined {
  const nearest = known
    .map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)[0];
  if (nearest === undefined || nearest.edits > Math.max(1, Math.ceil(nearest.candidate.length / 3))) return undefined;
  return `did you mean ${nearest.candidate}?`;
}

/** Levenshtein distance of two words; words of more than 64 characters are far from everything. */
function distance(a: string, b: string): number {
  if (a.length > 64) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of a.split('').entries()) {
    const next = [i + 1];
    for (const [j, other] of b.split('').entries()) {
      const swap = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

function nodeAt(schema: SchemaNode, path: KeyPath): SchemaNode | undefined {
  let node: SchemaNode | undefined = schema;
  for (const key of path) {
    node = node?.anyOf?.at(-1) ?? node;
    if (typeof key === 'number') node = node?.items;
    else
      node = node?.properties !== undefined && Object.hasOwn(node.properties, key) ? node.properties[key] : undefined;
  }
  return node?.anyOf?.at(-1)?.properties === undefined ? node : node.anyOf.at(-1);
}

function valueAt(document: unknown, path: KeyPath): unknown {
  let value = document;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
