// The options of `sim device` about its answers to Allocate and GetPreferredAllocation.
import { option, type SimOption } from '../sim-option.js';

const ORDERS = ['first', 'last'] as const;

/** One host path for a container: where it is on the host, where the container sees it, and how. */
export interface HostPath {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Permissions of a device node, or `ro` for a mount that cannot be written to; empty when nothing was said. */
  readonly mode: string;
}

/** A name and its value. */
export type Pair = readonly [name: string, value: string];

/** How a simulated plugin answers when its devices are given away. */
export interface AllocationOptions {
  /** `{ids}` is all ids with commas, `{n}` the number of the Allocate call; without any, SIM_DEVICES={ids}. */
  readonly allocateEnv: readonly Pair[];
  /** With `{id}` one device node for each id. */
  readonly allocateDevice: readonly HostPath[];
  readonly allocateMount: readonly HostPath[];
  readonly allocateCdi: readonly string[];
  readonly allocateAnnotation: readonly Pair[];
  /** Which of the devices on offer GetPreferredAllocation names. */
  readonly prefer: (typeof ORDERS)[number];
}

/** The options in the order in which help shows them. */
export const ALLOCATION_OPTIONS: readonly SimOption<keyof AllocationOptions>[] = [
  option(
    'allocateEnv',
    'pair',
    'Allocate answers this variable, NAME=VALUE; {ids} is its devices, {n} the number of the call; may be repeated (default: SIM_DEVICES={ids})',
    { parse: (text, before) => [...(before as readonly Pair[]), pair(text)], default: [] },
  ),
  option(
    'allocateDevice',
    'path',
    'Allocate answers this device node, HOST[:CONTAINER[:rwm]], one for each device when {id} stands in it; may be repeated',
    {
      parse: (text, before) => [
        ...(before as readonly HostPath[]),
        hostPath(text, /^[rwm]*$/, 'permissions (r, w, m)'),
      ],
      default: [],
    },
  ),
  option(
    'allocateMount',
    'path',
    'Allocate answers this mount, HOST[:CONTAINER[:ro]]; {id} as above; may be repeated',
    {
      parse: (text, before) => [...(before as readonly HostPath[]), hostPath(text, /^(ro|rw)?$/, 'ro or rw')],
      default: [],
    },
  ),
  option('allocateCdi', 'name', 'Allocate answers this CDI device, vendor/class=name; {id} as above; may be repeated', {
    parse: (text, before) => [...(before as readonly string[]), text],
    default: [],
  }),
  option(
    'allocateAnnotation',
    'pair',
    'Allocate answers this annotation, NAME=VALUE; {ids} and {n} as above; may be repeated',
    { parse: (text, before) => [...(before as readonly Pair[]), pair(text)], default: [] },
  ),
  option('prefer', 'order', 'which of the devices on offer GetPreferredAllocation names', {
    choices: ORDERS,
    default: 'first',
  }),
];

function pair(text: string): Pair {
  const at = text.indexOf('=');
  if (at < 1) throw new Error(`${text} is no NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function hostPath(text: string, modes: RegExp, meant: string): HostPath {
  const [host = '', container = '', mode = '', ...more] = text.split(':');
  if (host === '' || more.length > 0) throw new Error(`${text} is no HOST[:CONTAINER[:MODE]]`);
  if (!modes.test(mode)) throw new Error(`${mode} in ${text} is none of ${meant}`);
  return { hostPath: host, containerPath: container === '' ? host : container, mode };
}
