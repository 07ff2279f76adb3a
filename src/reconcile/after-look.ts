// The looks that a known instance needs, and their consequences: which socket is at its path, and whether a process listens on
// its endpoint. Pure: `reports.ts` and `lifecycle.ts` look.
import { isConnected, isReplaced, type Instance } from '../model/instance.js';
import type { InstanceReport, PluginState } from '../model/plugin.js';
import type { Action } from './actions.js';
import { mayReturn } from './pull.js';

/** A question to the kernel: whether a process listens on the endpoint of an instance, or which socket is at its path. */
export type Look = 'listener' | 'path';

/**
 * The look that an instance needs when files have changed, or may have.
 *
 * @param isPending the broker comes back to it anyway
 * @returns undefined: no finding would change anything
 */
export function lookFor(instance: Instance, isPending: boolean): Look | undefined {
  if (isReplaced(instance)) return 'listener';
  if (isConnected(instance)) return instance.door === 'register' ? 'path' : undefined;
  return mayReturn(instance) && !isPending ? 'listener' : undefined;
}

/** A fallback without a listener is closed; an instance that was given up and has a listener again is pulled. */
export function afterListenerLook(instance: Instance, isListening: boolean): Action[] {
  if (!isReplaced(instance)) return isListening ? [{ do: 'pull', delayMs: 0 }] : [];
  return isListening ? [] : [{ do: 'close-replaced', message: 'a newer incarnation took over' }];
}

/**
 * The report about a connected plugin whose socket is not at its path: the plugin goes on serving.
 * A plugin of the watcher door stays `orphaned` until the newcomer at its path was asked, even if the path changes again.
 *
 * @param key the incarnation at its path now; undefined: none
 * @returns undefined while the path is its own
 */
function lostPath({ door, socketKey }: Instance, key: string | undefined): InstanceReport | undefined {
  if (key === socketKey) return undefined;
  if (key === undefined && door === 'register') {
    return { state: 'ready', reason: 'path-missing', message: 'its socket file vanished; it goes on serving' };
  }
  return { state: 'orphaned', reason: 'path-taken', message: 'its path now belongs to another socket' };
}

/** The report after a look at the path of a connected plugin. @param key as for `lostPath` @returns undefined: nothing new */
export function afterPathLook(instance: Instance, key: string | undefined): InstanceReport | undefined {
  const lost = lostPath(instance, key);
  if (lost !== undefined) return instance.reason === 'recycled' ? undefined : lost;
  if (instance.reason !== 'path-missing' && instance.reason !== 'path-taken') return undefined;
  return { state: 'ready', reason: 'registered', message: 'its socket is back in place' };
}

/** The look that a report needs before it is entered: the handler does not know the path and the listener. */
export function lookBefore({ door, state: before }: Instance, { state, reason }: InstanceReport): Look | undefined {
  if (state === 'ready' && reason !== 'recycled' && (before === 'ready' || before === 'orphaned')) {
    // At the watcher door a vanished socket is a de-registration: RegistrySockets reports it.
    return door === 'register' || before === 'orphaned' ? 'path' : undefined;
  }
  return reason === 'reopening' ? 'listener' : undefined;
}

/** A report that a plugin serves, or the report that its path is lost. @param key as for `lostPath` */
export function withPath(instance: Instance, report: InstanceReport, key: string | undefined): InstanceReport {
  return lostPath(instance, key) ?? report;
}

/** A stream that ended in order is opened again only while a process listens: otherwise the plugin has left. */
export function withListener(report: InstanceReport, isListening: boolean): InstanceReport {
  if (isListening) return report;
  return { ...report, reason: 'connection-lost', message: 'closed its list stream and listens no more' };
}

/** Whether a plugin that is connected again may have lost its path while it did not answer. */
export function mayHaveLostPath(instance: Instance, before: PluginState): boolean {
  return before === 'held' && isConnected(instance) && instance.door === 'register';
}
