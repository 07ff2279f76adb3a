// What it means to a connected plugin that its path is not its own any more. Pure.
import type { InstanceReport } from '../model/plugin.js';
import type { Instance } from '../model/instance.js';

/**
 * What stands while the socket of a connected plugin is not at its path: it goes on serving, and says so.
 * A plugin of the watcher door is `orphaned` until its newcomer was asked, whatever becomes of the path meanwhile.
 *
 * @param key the incarnation at its path now; undefined: none
 * @returns undefined while the path is its own
 */
export function lostPath({ door, socketKey }: Instance, key: string | undefined): InstanceReport | undefined {
  if (key === socketKey) return undefined;
  if (key === undefined && door === 'register') {
    return { state: 'ready', reason: 'path-missing', message: 'its socket file vanished; it goes on serving' };
  }
  return { state: 'orphaned', reason: 'path-taken', message: 'its path now belongs to another socket' };
}
