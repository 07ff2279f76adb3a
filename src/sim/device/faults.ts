// Calls that a simulated plugin answers late, wrongly or never.
import { status } from '@grpc/grpc-js';
import { count, duration } from '../sim-option.js';

/** Methods that can be disturbed. */
const METHODS: readonly string[] = [
  'GetDevicePluginOptions',
  'ListAndWatch',
  'GetPreferredAllocation',
  'Allocate',
  'PreStartContainer',
  'GetInfo',
  'NotifyRegistrationStatus',
];

/** The fault of a method: for its first calls, or for all. */
export interface Fault {
  readonly method: string;
  readonly first: number;
  readonly act:
    | { readonly kind: 'delay'; readonly ms: number }
    | { readonly kind: 'never' }
    | { readonly kind: 'empty' }
    | { readonly kind: 'garbage' }
    | { readonly kind: 'status'; readonly code: number; readonly details: string };
}

/**
 * Makes a reader of `METHOD=delay:500ms | never | empty | garbage | status:CODE[:TEXT]`, with `@N` at the end for the first N
 * calls only. The reader takes one such text and the faults given so far.
 *
 * @param methods those that can be disturbed
 */
export function faultParser(methods: readonly string[]): (text: string, before: unknown) => Fault[] {
  return (text, before) => {
    const [, method = '', kind = '', rest = '', first = ''] = /^(\w+)=(\w+)(?::(.*?))?(?:@(\d+))?$/.exec(text) ?? [];
    if (!methods.includes(method)) throw new Error(`${text} names none of the methods ${methods.join(', ')}`);
    const fault = { method, first: first === '' ? Infinity : count(first), act: parseAct(kind, rest) };
    return [...(before as readonly Fault[]), fault];
  };
}

/** Reads a fault of a device plugin. */
export const parseFault = faultParser(METHODS);

function parseAct(kind: string, rest: string): Fault['act'] {
  if (kind === 'delay') return { kind, ms: duration(rest) };
  if (kind === 'never' || kind === 'empty' || kind === 'garbage') return { kind };
  if (kind !== 'status') throw new Error(`${kind} is none of delay, never, empty, garbage, status`);
  const [name = '', ...words] = rest.split(':');
  const code: unknown = Object.hasOwn(status, name) ? status[name as keyof typeof status] : undefined;
  if (typeof code !== 'number') throw new Error(`${name} is no gRPC status such as UNAVAILABLE`);
  return { kind, code, details: words.length === 0 ? 'simulated failure' : words.join(':') };
}

/** A failure of a call with a gRPC status. */
export class CallFault extends Error {
  readonly code: number;
  constructor(code: number, details: string) {
    super(details);
    this.code = code;
  }
}

/** Counts calls and disturbs those that are to be. */
export class Faults {
  readonly #faults: readonly Fault[];
  readonly #calls = new Map<string, number>();

  constructor(faults: readonly Fault[]) {
    this.#faults = faults;
  }

  /**
   * Stands before the answer of a call: settles when it may be given.
   *
   * @returns bytes to answer with instead, an empty message or undecodable ones, or undefined
   * @throws CallFault to end the call with a status
   */
  async before(method: string): Promise<Buffer | undefined> {
    const calls = (this.#calls.get(method) ?? 0) + 1;
    this.#calls.set(method, calls);
    let answer: Buffer | undefined;
    for (const { method: disturbed, first, act } of this.#faults) {
      if (disturbed !== method || calls > first) continue;
      if (act.kind === 'status') throw new CallFault(act.code, act.details);
      if (act.kind === 'garbage') answer = Buffer.alloc(64, 0xff);
      else if (act.kind === 'empty') answer = Buffer.alloc(0);
      else if (act.kind === 'never') await new Promise(() => undefined);
      else await new Promise((resolve) => setTimeout(resolve, act.ms));
    }
    return answer;
  }
}
