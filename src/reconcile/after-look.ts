// What has to be looked at before anything follows for a known instance, and what follows from what is found: which socket
// is at its path, and whether somebody listens on its endpoint. Pure: `reports.ts` and `lifecycle.ts` look.
import { isConnected, isReplaced, type Instance } from '../model/instance.js';
import type { InstanceReport, PluginState } from '../model/plugin.js';
import type { Action } from './actions.js';
import { mayReturn } from './pull.js';

/** What is looked at: who listens on the endpoint of an instance, or which socket is at its path. Both are asked of the kernel. */
export type Look = 'listener' | 'path';

/**
 * What is looked at when files have changed, or may have.
 *
 * @param isPending the broker comes back to it anyway
 * @returns undefined: nothing that is found would change anything
 */
export function lookFor(instance: Instance, isPending: boolean): Look | undefined {
  if (isReplaced(instance)) return 'listener';
  if (isConnected(instance)) return instance.door === 'register' ? 'path' : undefined;
  return mayReturn(instance) && !isPending ? 'listener' : undefined;
}

/** What follows when it was looked whether somebody listens: a fallback is one no longer, and one that was given up may be back. */
export function afterListenerLook(instance: Instance, isListening: boolean): Action[] {
  if (!isReplaced(instance)) return isListening ? [{ do: 'pull', delayMs: 0 }] : [];
  return isListening ? [] : [{ do: 'close-replaced', message: 'a newer incarnation took over' }];
}

/**
 * What stands while the socket of a connected plugin is not at its path: it goes on serving, and says so.
 * A plugin of the watcher door is `orphaned` until its newcomer was asked, whatever becomes of the path meanwhile.
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

/** What a look at the path of a connected plugin comes to. @param key as for `lostPath` @returns undefined: nothing new */
export function afterPathLook(instance: Instance, key: string | undefined): InstanceReport | undefined {
  const lost = lostPath(instance, key);
  if (lost !== undefined) return instance.reason === 'recycled' ? undefined : lost;
  if (instance.reason !== 'path-missing' && instance.reason !== 'path-taken') return undefined;
  return { state: 'ready', reason: 'registered', message: 'its socket is back in place' };
}

/** What a handler cannot know of what it reports, and has to be looked at first. */
export function lookBefore({ door, state: before }: Instance, { state, reason }: InstanceReport): Look | undefined {
  if (state === 'ready' && reason !== 'recycled' && (before === 'ready' || before === 'orphaned')) {
    // At the watcher door a vanished socket is a de-registration, which is not told here.
    return door === 'register' || before === 'orphaned' ? 'path' : undefined;
  }
  return reason === 'reopening' ? 'listener' : undefined;
}

/** That a connected plugin serves, as it is with the socket that is at its path. @param key as for `lostPath` */
export function withPath(instance: Instance, report: InstanceReport, key: string | undefined): InstanceReport {
  return lostPath(instance, key) ?? report;
}

/** A stream that ended in order is opened again only while somebody listens: otherwise the plugin has left. */
export function withListener(report: InstanceReport, isListening: boolean): InstanceReport {
  if (isListening) return report;
  return { ...report, reason: 'connection-lost', message: 'closed its list stream and listens no more' };
}

/** Whether a plugin that is connected again may have lost its path while it did not answer. */
export function mayHaveLostPath(instance: Instance, before: PluginState): boolean {
  return before === 'held' && isConnected(instance) && instance.door === 'register';
}
