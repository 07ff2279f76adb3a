// What a quarantine does to sessions, and how the plugin comes back when it is over (contract 4).
import type { Quarantine } from '../flood/ports.js';
import { DEVICE_PLUGIN, sameProcess } from '../model/ids.js';
import { isConnected, type Instance } from '../reconcile/instance.js';
import { isFinal } from '../reconcile/pull.js';
import type { Core } from './core.js';

/**
 * Closes the sessions of the processes that offended. INVARIANT(innocent-serves-on): an incarnation whose process made
 * none of the offending calls goes on serving, whoever calls in its name.
 */
export function quarantineBegan(core: Core, { type, name, uid, offenders }: Quarantine): void {
  for (const instance of core.roster.ofPlugin(type, name)) {
    if (!isConnected(instance) && instance.state !== 'held') continue;
    if (!isOffender(instance, uid, offenders)) continue;
    void core.handlers
      .get(type)
      ?.deregister(instance.id, 'quarantine')
      .catch(() => undefined);
    core.reconciler.unwant(instance.id);
    core.lifecycle.report(instance.id, {
      state: 'quarantined',
      reason: 'quarantine',
      message: 'its process registered too often; the session is closed and its resource held',
    });
  }
}

/** Pulls what was kept out: the endpoint named last, and sessions that were closed. A plugin that never calls again is not lost. */
export function quarantineEnded(core: Core, { type, name, last }: Quarantine): void {
  for (const instance of core.roster.ofPlugin(type, name)) {
    if (instance.state === 'quarantined') core.lifecycle.pull(instance, 0);
  }
  // At the watcher door the socket is still wished for and is tried again by itself.
  if (last?.endpoint === undefined || last.door !== 'register' || type !== DEVICE_PLUGIN) return;
  const { endpoint, versions, caller } = last;
  core.reconciler.want({
    key: `pull:${type}/${name}`,
    incarnation: endpoint,
    attempt: async (signal) => {
      const outcome = await core.enrolments.enrol(
        {
          door: 'register',
          pulled: true,
          type,
          name,
          versions: versions ?? [],
          endpoint,
          ...(caller === undefined ? {} : { caller }),
        },
        signal,
      );
      if (outcome.ok || isFinal(outcome.refusal)) return { done: true };
      return { done: false, atLeastMs: outcome.refusal.retryAfterMs ?? 0 };
    },
  });
}

function isOffender(instance: Instance, uid: number, offenders: Quarantine['offenders']): boolean {
  const { caller } = instance;
  if (caller === undefined) return offenders.some((offender) => offender.uid === uid);
  return offenders.some((offender) => sameProcess(offender, caller));
}
