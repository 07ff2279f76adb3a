// Reads the members of a parsed JSON object one by one, saying exactly what is wrong. By hand and small, because it
// stands in the way of a start: a schema library would cost more time than everything else of the load.
import { believable } from '../kernel/counter.js';
import type { UnknownFields } from './document.js';

/** A member that does not fit the format. The message names it: `plugins[3].uid must be a whole number`. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

const NONE: UnknownFields = new Map<string, unknown>([]);
/** Most lists of a lease are empty. */
const EMPTY: readonly never[] = [];

/**
 * One JSON object whose members are asked for by name. All methods throw Malformed. A start makes thousands of them in
 * code that is not compiled yet, where private members are slow: its own are plain ones.
 */
export class Members {
  /** As parsed. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Where it stands: put together only for a message, because a document has tens of thousands of them. */
  readonly parent: Members | undefined;
  /** Its member in the parent. */
  readonly name: string;
  /** Its place, where that member is a list. */
  readonly index: number | undefined;

  /**
   * @param parent the object in which it stands; none for the document itself
   * @param name its member there
   * @param index its place, where that member is a list
   */
  constructor(value: unknown, parent?: Members, name = '', index?: number) {
    if (!isRecord(value)) throw new Malformed(`${placeOf(parent, name, index)} must be an object`);
    this.values = value;
    this.parent = parent;
    this.name = name;
    this.index = index;
  }

  /** How messages call it; empty for the document itself. */
  get path(): string {
    return this.parent === undefined ? '' : pathOf(this.parent, this.name, this.index);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.values, name);
  }

  text(name: string): string {
    const value = own(this.values, name);
    if (typeof value !== 'string') throw new Malformed(`${pathOf(this, name)} must be text`);
    return value;
  }

  flag(name: string): boolean {
    const value = own(this.values, name);
    if (typeof value !== 'boolean') throw new Malformed(`${pathOf(this, name)} must be true or false`);
    return value;
  }

  /** A whole number, not negative. */
  count(name: string): number {
    const value = own(this.values, name);
    if (isCount(value)) return value;
    throw new Malformed(`${pathOf(this, name)} must be a whole number that is not negative`);
  }

  /** A count that goes on from here; one that nobody can have reached starts again at 0. */
  counter(name: string): number {
    return believable(this.count(name));
  }

  /** Whole numbers, negative ones too. */
  wholeNumbers(name: string): readonly number[] {
    const list = this.list(name);
    if (list.length === 0) return EMPTY;
    return list.map((value, index) => {
      if (isWhole(value)) return value;
      throw new Malformed(`${pathOf(this, name, index)} must be a whole number`);
    });
  }

  texts(name: string): readonly string[] {
    const list = this.list(name);
    if (list.length === 0) return EMPTY;
    return list.map((value, index) => {
      if (typeof value === 'string') return value;
      throw new Malformed(`${pathOf(this, name, index)} must be text`);
    });
  }

  list(name: string): readonly unknown[] {
    const value = own(this.values, name);
    if (!Array.isArray(value)) throw new Malformed(`${pathOf(this, name)} must be a list`);
    return value as readonly unknown[];
  }

  record(name: string): Readonly<Record<string, unknown>> {
    const value = own(this.values, name);
    if (isRecord(value)) return value;
    throw new Malformed(`${pathOf(this, name)} must be an object`);
  }

  /** The object under a name, to be asked in turn. */
  object(name: string): Members {
    return new Members(own(this.values, name), this, name);
  }

  /** The objects of a list. */
  objects(name: string): readonly Members[] {
    const list = this.list(name);
    return list.length === 0 ? EMPTY : list.map((value, index) => new Members(value, this, name, index));
  }

  /** A hash, which becomes the name of a file. */
  sha256(): string {
    const sha256 = this.text('sha256');
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Malformed(`${this.name}.sha256 must be 64 hexadecimal digits`);
    return sha256;
  }

  /** The members that are not among `known`. */
  others(known: ReadonlySet<string>): UnknownFields {
    let others: Map<string, unknown> | undefined;
    for (const name of Object.keys(this.values)) {
      if (!known.has(name)) (others ??= new Map()).set(name, this.values[name]);
    }
    return others ?? NONE;
  }
}

function own(values: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function pathOf(parent: Members, name: string, index?: number): string {
  const { path } = parent;
  const member = path === '' ? name : `${path}.${name}`;
  return index === undefined ? member : `${member}[${index}]`;
}

function placeOf(parent: Members | undefined, name: string, index: number | undefined): string {
  return parent === undefined ? 'the document' : pathOf(parent, name, index);
}

/** Whether a parsed value is a whole number, not negative. */
export function isCount(value: unknown): value is number {
  return isWhole(value) && value >= 0;
}

/** Whether a parsed value is a whole number. */
export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Whether a parsed value is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
