// A request for devices as it came in, checked. Pure.
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { LeaseBinding, Want } from '../model/lease.js';

/** Resources of one request, devices of one lease, and the longest wait. */
const MAX_WANTS = 64;
const MAX_DEVICES = 1024;
const MAX_WAIT_MS = 3_600_000;
const MAX_TEXT_BYTES = 256;
/** The longest time to live: ten years keep every sum with it exact. */
const MAX_TTL_MS = 10 * 365 * 24 * MAX_WAIT_MS;

/** As a caller spelled it. */
export interface RawRequest {
  readonly wants: readonly {
    readonly resource: string;
    readonly count: number;
    readonly ids: readonly string[];
    readonly numa: string;
  }[];
  readonly owner:
    { readonly bind: string; readonly namespace: string; readonly name: string; readonly part: string } | undefined;
  readonly key: string;
  readonly ttlMs: number;
  readonly waitMs: number;
}

/** The same, or a function that decodes it (and may throw). */
export type Asked = RawRequest | (() => RawRequest);

/** A request in usable form. */
export interface AllocationRequest {
  readonly wants: readonly Want[];
  readonly bind: LeaseBinding;
  /** Empty where it is to be worked out. */
  readonly names: { readonly namespace: string; readonly name: string; readonly part: string };
  readonly key: string | undefined;
  readonly ttlMs: number | undefined;
  readonly waitMs: number;
}

/** Reads a request, or returns its mistake. */
export function readRequest(raw: RawRequest): AllocationRequest | AllocationRefusal {
  const problem = problemOf(raw);
  if (problem !== undefined) return { code: 'WANT_INVALID', message: problem };
  const { owner, key, ttlMs, waitMs } = raw;
  return {
    wants: raw.wants.map(({ resource, count, ids, numa }) => ({
      resource,
      count: count === 0 ? Math.max(1, ids.length) : count,
      ids,
      numa: numa === 'single' ? 'single' : 'prefer',
    })),
    bind: bindingOf(owner?.bind ?? '', key),
    names: { namespace: owner?.namespace ?? '', name: owner?.name ?? '', part: owner?.part ?? '' },
    key: key === '' ? undefined : key,
    ttlMs: ttlMs === 0 ? undefined : ttlMs,
    waitMs,
  };
}

function bindingOf(bind: string, key: string): LeaseBinding {
  if (bind === 'process' || bind === 'cgroup' || bind === 'key') return bind;
  return key === '' ? 'process' : 'key';
}

function problemOf({ wants, owner, key, ttlMs, waitMs }: RawRequest): string | undefined {
  if (wants.length === 0) return 'nothing is wanted: name a resource';
  if (wants.length > MAX_WANTS)
    return `${String(wants.length)} resources are wanted, and one request takes ${String(MAX_WANTS)}`;
  if (new Set(wants.map(({ resource }) => resource)).size < wants.length)
    return 'a resource is wanted twice: want it once, with a count';
  for (const want of wants) {
    const problem = wantProblem(want);
    if (problem !== undefined) return problem;
  }
  const all = wants.reduce((sum, { count, ids }) => sum + (count === 0 ? Math.max(1, ids.length) : count), 0);
  if (all > MAX_DEVICES) return `${String(all)} devices are wanted, and one lease takes ${String(MAX_DEVICES)}`;
  const bind = owner?.bind ?? '';
  if (!['', 'process', 'cgroup', 'key'].includes(bind))
    return `a lease cannot be bound to ${quoted(bind)}; write process, cgroup or key`;
  for (const text of [owner?.namespace ?? '', owner?.name ?? '', owner?.part ?? '', key]) {
    if (!isPlain(text))
      return `${quoted(text)} is longer than ${String(MAX_TEXT_BYTES)} bytes or has control characters`;
  }
  if (bind === 'key' && key === '') return 'a lease that is bound to a key needs a key';
  if (ttlMs !== 0 && key === '') return 'a time to live needs a key';
  if (ttlMs < 0 || ttlMs > MAX_TTL_MS) return `a time to live of ${String(ttlMs)} ms is not possible; write 0 for none`;
  if (waitMs < 0 || waitMs > MAX_WAIT_MS)
    return `a wait of ${String(waitMs)} ms is not possible; it is at most one hour`;
  return undefined;
}

function wantProblem({ resource, count, ids, numa }: RawRequest['wants'][number]): string | undefined {
  if (resource === '' || !isPlain(resource)) return `${quoted(resource)} is not the name of a resource`;
  if (count < 0 || count > MAX_DEVICES)
    return `${String(count)} devices of ${resource} cannot be wanted; one lease takes ${String(MAX_DEVICES)}`;
  if (ids.length > MAX_DEVICES || (count > 0 && ids.length > count)) {
    return `${String(ids.length)} ids of ${resource} are named for ${String(count)} devices`;
  }
  if (new Set(ids).size < ids.length) return `an id of ${resource} is named twice`;
  const odd = ids.find((id) => id === '' || Buffer.byteLength(id) > MAX_TEXT_BYTES);
  if (odd !== undefined) return `${quoted(odd)} cannot be the id of a device`;
  return ['', 'single', 'prefer'].includes(numa) ? undefined : `numa cannot be ${quoted(numa)}; write single or prefer`;
}

/** Whether a name, a key or an id may be said back: at most 256 bytes, and no control characters. */
export function isPlain(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_TEXT_BYTES && !/[\u0000-\u001f\u007f]/.test(text);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
