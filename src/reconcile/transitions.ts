// Which state may follow which: the drawing in ARCHITECTURE.md as a table. The roster makes no other change.
import type { Instance } from '../model/instance.js';
import type { InstanceReport, PluginState } from '../model/plugin.js';

/** By state: the states that an instance may have next. To stay in a state with another reason is always right. */
export const MAY_BECOME: Readonly<Record<PluginState, readonly PluginState[]>> = {
  connecting: ['ready', 'held', 'rejected', 'gone', 'quarantined'],
  restored: ['ready', 'held', 'quarantined', 'gone'],
  ready: ['held', 'orphaned', 'restored', 'quarantined', 'gone'],
  held: ['ready', 'connecting', 'quarantined', 'gone'],
  orphaned: ['ready', 'restored', 'held', 'quarantined', 'gone'],
  quarantined: ['ready', 'held', 'gone'],
  gone: ['connecting'],
  rejected: ['connecting'],
};

/** The states in which an instance may enter the roster. */
export const MAY_BEGIN: readonly PluginState[] = ['connecting', 'restored', 'held'];

/** Why an instance may not make a change, as a sentence; undefined: it may. */
export function illegalChange(instance: Instance, to: InstanceReport): string | undefined {
  const { name, state, reason } = instance;
  if (state === to.state || MAY_BECOME[state].includes(to.state)) return undefined;
  return `${name} was to go from ${state} (${reason}) to ${to.state} (${to.reason}), which no rule allows: ${to.message}`;
}

/** Why an instance may not enter the roster, as a sentence; undefined: it may. */
export function illegalBeginning({ name, state, reason }: Instance): string | undefined {
  if (MAY_BEGIN.includes(state)) return undefined;
  return `${name} was to begin as ${state} (${reason}), which no rule allows`;
}

/** A roster's default reaction to an illegal change: in tests a bug of ours is an error at once. */
export function failLoudly(message: string): never {
  throw new Error(message);
}
