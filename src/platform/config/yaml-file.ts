// The configuration file: read, parsed as YAML 1.2, checked by the compiled schema, explained by the other one.
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Document, LineCounter } from 'yaml';
import type { FormSource, ReadResult } from '../../config/ports.js';
import type { ConfigProblem, KeyPath, Locate } from '../../config/problem.js';
import { looksOf } from './file-looks.js';
import { completeForm, defaultForm } from './compiled-form.js';

/** Larger files are not read: no configuration is that long, and parsing it would hold up the daemon. */
const LONGEST_FILE = 2 ** 20;

/**
 * Values that YAML allows and no configuration has: values that contain themselves, and trees too deep or too large to be walked.
 */
/** Levels that a value may have; the deepest setting has six. */
const DEEPEST = 32;
/** Values in all, those of aliases counted wherever they stand. */
const MOST_VALUES = 100_000;

const nowhere: Locate = () => undefined;

/** The defaults, without any file. */
export const defaultSource: FormSource = {
  name: 'defaults',
  file: undefined,
  read: () => Promise.resolve({ form: structuredClone(defaultForm), locate: nowhere }),
  looks: () => '',
};

/**
 * A file in YAML. Lines about its text name it as given; later callers of the daemon, in any directory, are told the whole path.
 */
export function yamlFile(file: string): FormSource {
  let looks = '';
  return {
    name: path.resolve(file),
    file,
    read: () => {
      looks = looksOf(file);
      return readYaml(file);
    },
    looks: () => looks,
  };
}

async function readYaml(file: string): Promise<ReadResult> {
  const text = await readText(file);
  return 'problem' in text ? { problems: [text.problem], locate: nowhere } : parseYaml(text.text);
}

/** Parses and checks the text of a configuration file. Never rejects for any text. */
export async function parseYaml(text: string): Promise<ReadResult> {
  try {
    return await parse(text);
  } catch (thrown) {
    // The parser recurses: a text that is nested deeply enough runs out of stack somewhere in it.
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return refused(
      `it cannot be read: ${why.split('\n', 1)[0] ?? ''}`,
      'write plain keys and values, not deeply nested',
    );
  }
}

async function parse(text: string): Promise<ReadResult> {
  if (text.trim() === '') {
    return refused('the file is empty', 'write {} for the defaults');
  }
  const { LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  // Merge keys are of YAML 1.1, and people write them.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2', merge: true });
  const second = document.errors.find(({ code }) => code === 'MULTIPLE_DOCS');
  if (second !== undefined) {
    const { line, col: column } = lines.linePos(second.pos[0]);
    const message = 'it has several documents (---), and only one policy can be in force';
    const problem = { ...whole(message, 'write one document, or several files'), line, column };
    return { problems: [problem], locate: nowhere };
  }
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    const problems = faults.map(({ message, pos }) => syntaxProblem(message, lines, pos[0]));
    return { problems, locate: nowhere };
  }
  const locate = locator(document, lines);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (thrown) {
    return refused(
      `it cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      'use fewer aliases',
    );
  }
  const shape = unreadableShape(value);
  if (shape !== undefined)
    return refused(shape, 'write every value where it belongs, without aliases to what is around it');
  const form = completeForm(value);
  if (form !== undefined) return { form, locate };
  const { explainForm, restOf } = await import('./explain.js');
  const problems = explainForm(value);
  return problems.length > 0
    ? { problems, locate, rest: restOf(value, problems) }
    : refused('the compiled schema refuses it, and the other one does not say why', 'report this as a bug');
}

async function readText(file: string): Promise<{ readonly text: string } | { readonly problem: ConfigProblem }> {
  try {
    const found = await stat(file);
    // Asked before it is opened: opening a pipe would wait for its writer.
    if (!found.isFile()) return { problem: whole('it is not a file', 'name a YAML file') };
    if (found.size > LONGEST_FILE) {
      return { problem: whole('it is longer than 1 MiB', 'remove what is no configuration') };
    }
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)) };
  } catch (thrown) {
    if (thrown instanceof TypeError) return { problem: whole('it is not text in UTF-8', 'save it as UTF-8') };
    const code = (thrown as NodeJS.ErrnoException).code ?? String(thrown);
    return {
      problem: whole(`it cannot be read (${code})`, 'check that the file exists and that the daemon may read it'),
    };
  }
}

function locator(document: Document, lines: LineCounter): Locate {
  return (path) => {
    let offset: number | undefined;
    try {
      offset = offsetOf(document, path);
    } catch {
      return undefined; // a place in an odd document is a help, no need
    }
    if (offset === undefined) return undefined;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
}

/** Where a key (of a mapping) or an item (of a list) begins. */
function offsetOf(document: Document, path: KeyPath): number | undefined {
  const last = path.at(-1);
  const parent = document.getIn(path.slice(0, -1), true) as
    | {
        readonly items?: readonly { readonly key?: { readonly value?: unknown; readonly range?: readonly number[] } }[];
      }
    | undefined;
  const pair = parent?.items?.find((item) => typeof last === 'string' && String(item.key?.value) === last);
  return (
    pair?.key?.range?.[0] ??
    (document.getIn(path, true) as { readonly range?: readonly number[] } | undefined)?.range?.[0]
  );
}

function syntaxProblem(message: string, lines: LineCounter, offset: number): ConfigProblem {
  const { line, col } = lines.linePos(offset);
  return {
    path: [],
    message: `it is not YAML: ${message}`,
    remedy: 'correct the syntax at this place',
    line,
    column: col,
  };
}

function whole(message: string, remedy: string): ConfigProblem {
  return { path: [], message, remedy };
}

function refused(message: string, remedy: string): ReadResult {
  return { problems: [whole(message, remedy)], locate: nowhere };
}

/** Why a value cannot be a configuration with any keys; undefined: it is a plain tree. */
function unreadableShape(value: unknown): string | undefined {
  const around: unknown[] = [];
  let values = 0;
  const walk = (inner: unknown): string | undefined => {
    values += 1;
    if (values > MOST_VALUES) return `it has more than ${String(MOST_VALUES)} values`;
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (around.includes(inner)) return 'a value contains itself, by an alias to an anchor around it';
    if (around.length === DEEPEST) return `it is nested deeper than ${String(DEEPEST)} levels`;
    around.push(inner);
    const parts: Iterable<unknown> =
      inner instanceof Map || inner instanceof Set ? [...inner].flat() : Object.values(inner);
    for (const part of parts) {
      const why = walk(part);
      if (why !== undefined) return why;
    }
    around.pop();
    return undefined;
  };
  return walk(value);
}
