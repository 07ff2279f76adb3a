// The holders of a resource's devices and its state before a kubelet, in sentences. Pure.
import type { ResourceUse } from './plugin-views.js';

/** Owners named in one sentence. */
const NAMED = 8;

/** The sentences that `explain` adds about a resource; none where nobody uses it. */
export function useSentences(resource: string, use: ResourceUse): readonly string[] {
  const { state, reason } = use.front(resource);
  const front =
    state === 'off' && reason === ''
      ? []
      : [`Towards the kubelet it is ${state}${reason === '' ? '' : `: ${reason}`}.`];
  const taken = [...use.takenOf(resource)];
  if (taken.length === 0) return front;
  const holders = new Map<string, string[]>();
  for (const [device, { lease, owner }] of taken) {
    const holder = lease === '' ? owner : `${owner} (lease ${lease})`;
    const own = holders.get(holder);
    if (own === undefined) holders.set(holder, [device]);
    else own.push(device);
  }
  const named = [...holders].slice(0, NAMED).map(([holder, devices]) => `${holder} has ${some(devices)}`);
  const rest = holders.size - named.length;
  const more = rest > 0 ? `, and ${String(rest)} more owners have others` : '';
  return [...front, `${named.join(', ')}${more}.`];
}

function some(devices: readonly string[]): string {
  const rest = devices.length - NAMED;
  return `${devices.slice(0, NAMED).join(' ')}${rest > 0 ? ` and ${String(rest)} more` : ''}`;
}
