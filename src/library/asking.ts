// Small answers of a started broker: the last events, whether a value is as it is to be.
import type { BrokerEvent } from '../model/event.js';
import type { AdminClient } from '../platform/grpc/admin-client.js';

/** Events that a failed wait shows. */
export const EVENTS_SHOWN = 10;

/** The last events that are kept. */
export async function lastEvents(admin: AdminClient): Promise<readonly BrokerEvent[]> {
  let last: BrokerEvent[] = [];
  for await (const event of admin.events(0, '', false)) last = [...last.slice(1 - EVENTS_SHOWN), event];
  return last;
}

/** Bounds of a rule; JSON has no Infinity. */
export function bounds(times: number | undefined, forMs: number | undefined): { times: number; forMs: number } {
  return { times: times ?? Number.MAX_SAFE_INTEGER, forMs: forMs ?? Number.MAX_SAFE_INTEGER };
}

/** Whether a value has the named members, or satisfies a function. */
export function matches<T extends object>(value: T, is: Partial<T> | ((value: T) => boolean)): boolean {
  if (typeof is === 'function') return is(value);
  return (Object.keys(is) as (keyof T)[]).every((key) => value[key] === is[key]);
}

/** The awaited members, for an error. */
export function wanted(is: object): string {
  return typeof is === 'function' ? 'as the function asks' : JSON.stringify(is);
}
