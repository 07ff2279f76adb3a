// How a registration that failed is refused. Pure.
import { cut } from '../kernel/cut.js';
import type { Instance } from '../model/instance.js';
import type { InstanceReport } from '../model/plugin.js';
import { Refused, type Refusal } from '../model/reasons.js';

/** Why a registration came to nothing although its plugin answered. */
export function overRefusal({ name }: Instance, { state, reason, message }: InstanceReport): Refusal {
  const sentence = `${name}: it was registering, but ${message}`;
  if (state === 'quarantined') return { code: 'QUARANTINED', message: sentence };
  return { code: reason === 'deregistered' ? 'DEREGISTERED' : 'HANDLER_FAILED', message: sentence };
}

/** An exception, as a refusal. */
export function refusalFrom(failure: unknown, request: { readonly name: string }): Refusal {
  if (failure instanceof Refused) return failure.refusal;
  const why = failure instanceof Error ? failure.message : String(failure);
  return { code: 'HANDLER_FAILED', message: `${cut(request.name, 128)}: ${why}` };
}
