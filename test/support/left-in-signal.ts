import { getEventListeners } from 'node:events';

/** How much stays in a signal of works that are over: listeners, and the signals that AbortSignal.any() made of it. */
export function leftIn(signal: AbortSignal): number {
  const ofAny = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  const made = ofAny === undefined ? undefined : (Reflect.get(signal, ofAny) as Set<unknown> | undefined);
  return getEventListeners(signal, 'abort').length + (made?.size ?? 0);
}
