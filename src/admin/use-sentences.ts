// The holders of a resource's devices and its state before a kubelet, in sentences. Pure.
import { nameInText } from '../kernel/visible.js';
import type { LeaseWords } from './lease-words.js';
import type { ResourceUse } from './plugin-views.js';

/** Owners named in one sentence. */
const NAMED = 8;

/**
 * The sentences that `explain` adds about a resource; none where nobody uses it.
 *
 * @param nameOf names a holder
 */
export function useSentences(resource: string, use: ResourceUse, nameOf: LeaseWords['holder']): readonly string[] {
  const { state, reason } = use.front(resource);
  const front =
    state === 'off' && reason === ''
      ? []
      : [`Towards the kubelet it is ${state}${reason === '' ? '' : `: ${reason}`}.`];
  const taken = [...use.takenOf(resource)];
  if (taken.length === 0) return front;
  const holders = new Map<string, { readonly name: string; readonly devices: string[] }>();
  for (const [device, holder] of taken) {
    const key = `${holder.lease} ${holder.owner}`;
    const own = holders.get(key);
    if (own === undefined) holders.set(key, { name: nameOf(holder), devices: [device] });
    else own.devices.push(device);
  }
  const named = [...holders.values()].slice(0, NAMED).map(({ name, devices }) => `${name} has ${some(devices)}`);
  const rest = holders.size - named.length;
  const more = rest > 0 ? `, and ${String(rest)} more owners have others` : '';
  return [...front, `${named.join(', ')}${more}.`];
}

function some(devices: readonly string[]): string {
  const rest = devices.length - NAMED;
  return `${devices.slice(0, NAMED).map(nameInText).join(' ')}${rest > 0 ? ` and ${String(rest)} more` : ''}`;
}
