// A lease of the checkpoint in the form that nearly all have, taken as it was parsed: a start reads a thousand of them, and
// members that are not copied make no garbage. The slightest irregularity is left to `decodeLease`, which names the problem.
import type { Granted, LeaseOwner, PluginAnswer, Want } from '../model/lease.js';
import type { LeaseEntry } from './document.js';
import { isLeaseId, NO_TEXTS } from './lease-entry.js';
import { isCount, isRecord, isWhole } from './members.js';

const NOTHING: readonly never[] = [];
/** id, uid, owner, wants, granted, answer, createdAt, bootId. */
const MEMBERS = 8;

/** Remembers texts that many leases share, so that they are held once. */
export class PlainLeases {
  #bootId = '';
  #resource = '';

  /**
   * The parsed lease: the same object, its members changed to their form in memory. Undefined where `decodeLease` must look; that
   * can still read it then.
   */
  take(value: unknown): LeaseEntry | undefined {
    if (!isRecord(value)) return undefined;
    const { id, uid, key, owner, wants, granted, answer, createdAt, ttlMs, renewed, bootId } = value;
    if (renewed !== undefined || ttlMs !== undefined || !hasSize(value, MEMBERS + (key === undefined ? 0 : 1)))
      return undefined;
    if (
      typeof id !== 'string' ||
      !isLeaseId(id) ||
      !isCount(uid) ||
      typeof bootId !== 'string' ||
      typeof createdAt !== 'string'
    )
      return undefined;
    if (key !== undefined && typeof key !== 'string') return undefined;
    const created = Date.parse(createdAt);
    if (Number.isNaN(created) || !isOwner(owner) || !this.#areWants(wants) || !this.#isGranted(granted))
      return undefined;
    // The last one that can fail, because nothing may be other than it was parsed then.
    if (!takeAnswer(answer)) return undefined;
    if (bootId === this.#bootId) value['bootId'] = this.#bootId;
    else this.#bootId = bootId;
    value['createdAt'] = created;
    value['key'] = key;
    value['ttlMs'] = undefined;
    return value as unknown as LeaseEntry;
  }

  #areWants(wants: unknown): wants is Want[] {
    if (!Array.isArray(wants)) return false;
    for (const want of wants as unknown[]) {
      if (!isRecord(want) || !hasSize(want, 4)) return false;
      const { resource, count, ids, numa } = want;
      if (typeof resource !== 'string' || !isCount(count) || (numa !== 'single' && numa !== 'prefer')) return false;
      if (!isListOf(ids, isText)) return false;
      this.#share(want, resource);
      if (ids.length === 0) want['ids'] = NOTHING;
    }
    return true;
  }

  #isGranted(granted: unknown): granted is Granted[] {
    if (!Array.isArray(granted)) return false;
    for (const one of granted as unknown[]) {
      if (!isRecord(one) || !hasSize(one, 2)) return false;
      const { resource, devices } = one;
      if (typeof resource !== 'string' || !Array.isArray(devices)) return false;
      for (const device of devices as unknown[]) {
        if (!isRecord(device) || !hasSize(device, 2)) return false;
        const { id, numaNodes } = device;
        if (typeof id !== 'string' || !isListOf(numaNodes, isWhole)) return false;
        if (numaNodes.length === 0) device['numaNodes'] = NOTHING;
      }
      this.#share(one, resource);
    }
    return true;
  }

  #share(part: { resource?: unknown }, resource: string): void {
    if (resource === this.#resource) part.resource = this.#resource;
    else this.#resource = resource;
  }
}

function isOwner(owner: unknown): owner is LeaseOwner {
  if (!isRecord(owner)) return false;
  const { bind, namespace, name, part, process: life } = owner;
  if (bind !== 'key' && bind !== 'process') return false;
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof part !== 'string') return false;
  if (!hasSize(owner, life === undefined ? 4 : 5)) return false;
  if (life === undefined) return true;
  if (!isRecord(life) || !hasSize(life, 2)) return false;
  const { pid, startTime } = life;
  return isCount(pid) && typeof startTime === 'string';
}

/** Those with mounts or devices are looked at one by one: they are not most. False: nothing was changed. */
function takeAnswer(answer: unknown): answer is PluginAnswer {
  if (!isRecord(answer) || !hasSize(answer, 5)) return false;
  const { envs, mounts, devices, annotations, cdiDevices } = answer;
  if (!isEmpty(mounts) || !isEmpty(devices) || !isListOf(cdiDevices, isText)) return false;
  const variables = textsOf(envs);
  const notes = textsOf(annotations);
  if (variables === undefined || notes === undefined) return false;
  answer['envs'] = variables;
  answer['annotations'] = notes;
  answer['mounts'] = NOTHING;
  answer['devices'] = NOTHING;
  if (cdiDevices.length === 0) answer['cdiDevices'] = NOTHING;
  return true;
}

function textsOf(texts: unknown): ReadonlyMap<string, string> | undefined {
  if (!isRecord(texts)) return undefined;
  let map: Map<string, string> | undefined;
  for (const name in texts) {
    const text = texts[name];
    if (typeof text !== 'string') return undefined;
    map ??= new Map();
    map.set(name, text);
  }
  return map ?? NO_TEXTS;
}

/** Whether a parsed object has so many members, without making a list of them. */
function hasSize(value: object, size: number): boolean {
  let members = 0;
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- they are counted
  for (const _ in value) members += 1;
  return members === size;
}

function isListOf<T>(list: unknown, isOne: (one: unknown) => one is T): list is readonly T[] {
  return Array.isArray(list) && (list.length === 0 || list.every(isOne));
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
