// Reads the members of a parsed JSON object one by one, saying exactly what is wrong. By hand and small, because it
// stands in the way of a start: a schema library would cost more time than everything else of the load.
import { believable } from '../kernel/counter.js';
import type { UnknownFields } from './document.js';

/** A member that is not what the format says. The message names it: `plugins[3].uid must be a whole number`. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** One JSON object whose members are asked for by name. All methods throw Malformed. */
export class Members {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    this.#values = asRecord(value, path);
    this.#path = path;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name);
  }

  text(name: string): string {
    return asText(this.#get(name), this.#at(name));
  }

  flag(name: string): boolean {
    const value = this.#get(name);
    if (typeof value !== 'boolean') throw new Malformed(`${this.#at(name)} must be true or false`);
    return value;
  }

  /** A whole number, not negative. */
  count(name: string): number {
    const value = this.#get(name);
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw new Malformed(`${this.#at(name)} must be a whole number that is not negative`);
    }
    return value as number;
  }

  /** A count that goes on from here; one that nobody can have reached starts again at 0. */
  counter(name: string): number {
    return believable(this.count(name));
  }

  /** Whole numbers, none negative. */
  counts(name: string): readonly number[] {
    return this.list(name).map((value, index) => new Members({ value }, `${this.#at(name)}[${index}]`).count('value'));
  }

  texts(name: string): readonly string[] {
    return this.list(name).map((value, index) => asText(value, `${this.#at(name)}[${index}]`));
  }

  list(name: string): readonly unknown[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) throw new Malformed(`${this.#at(name)} must be a list`);
    return value as readonly unknown[];
  }

  record(name: string): Readonly<Record<string, unknown>> {
    return asRecord(this.#get(name), this.#at(name));
  }

  /** The object under a name, to be asked in turn. */
  object(name: string): Members {
    return new Members(this.#get(name), this.#at(name));
  }

  /** The objects of a list. */
  objects(name: string): readonly Members[] {
    return this.list(name).map((value, index) => new Members(value, `${this.#at(name)}[${index}]`));
  }

  /** The members that are not among `known`. */
  others(known: ReadonlySet<string>): UnknownFields {
    const others = new Map<string, unknown>();
    for (const name of Object.keys(this.#values)) if (!known.has(name)) others.set(name, this.#values[name]);
    return others;
  }

  #get(name: string): unknown {
    return this.has(name) ? this.#values[name] : undefined;
  }

  #at(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }
}

function asText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new Malformed(`${path} must be text`);
  return value;
}

function asRecord(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Malformed(`${path === '' ? 'the document' : path} must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}
