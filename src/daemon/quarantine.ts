// What a quarantine does to sessions, and how the plugin comes back when it is over (contract 4).
import type { Quarantine } from '../flood/ports.js';
import { DEVICE_PLUGIN, pluginKey, sameProcess } from '../model/ids.js';
import { isConnected, isReplaced, type Instance } from '../reconcile/instance.js';
import { afterRefusal } from '../reconcile/pull.js';
import type { Core } from './core.js';

/**
 * Closes the sessions of the processes that offended; after a restart of the broker they are not opened. Their resources
 * are held, and their grace does not run. INVARIANT(innocent-serves-on): an incarnation whose process made none of the
 * offending calls goes on serving, whoever calls in its name.
 */
export function quarantineBegan(core: Core, { type, name, uid, offenders }: Quarantine): void {
  for (const instance of core.roster.ofPlugin(type, name)) {
    if (!mayServe(instance) || !isOffender(instance, uid, offenders)) continue;
    void core.handlers
      .get(type)
      ?.deregister(instance.id, 'quarantine')
      .catch(() => undefined);
    core.reconciler.unwant(instance.id);
    core.lifecycle.report(instance.id, {
      state: 'quarantined',
      reason: 'quarantine',
      message: 'its process exceeded its limits too often; it has no session and its resource is held',
    });
  }
}

/** Pulls what was kept out: sessions that were closed, and the endpoint named last. A plugin that never calls again is not lost. */
export function quarantineEnded(core: Core, quarantine: Quarantine): void {
  for (const instance of core.roster.ofPlugin(quarantine.type, quarantine.name)) {
    if (instance.state === 'quarantined') core.lifecycle.pull(instance, 0);
  }
  pullNamed(core, quarantine);
  // Sockets of the watcher door, and pulls of before, are still wished for, and sleep until the quarantine was to end.
  core.reconciler.hurry(pluginKey(quarantine));
}

function pullNamed(core: Core, { type, name, last }: Quarantine): void {
  if (last?.endpoint === undefined || last.door !== 'register' || type !== DEVICE_PLUGIN) return;
  const { endpoint, versions, caller } = last;
  const newest = core.roster.ofPlugin(type, name)[0]?.seq ?? 0;
  const isSucceeded = (): boolean =>
    core.roster.ofPlugin(type, name).some((one) => isConnected(one) && one.seq > newest);
  core.reconciler.want({
    key: `pull:${type}/${name}`,
    incarnation: endpoint,
    attempt: async (signal) => {
      // Who registered meanwhile is newer than what was named then.
      if (isSucceeded()) return { done: true };
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
      return outcome.ok ? { done: true } : afterRefusal({ type, name }, outcome.refusal);
    },
  });
}

/** Whether it has a session, or may get one without anybody calling. A predecessor that is replaced has to be asked for. */
function mayServe(instance: Instance): boolean {
  const isHeld = instance.state === 'held' && !isReplaced(instance);
  return isConnected(instance) || isHeld || instance.state === 'restored' || instance.state === 'connecting';
}

function isOffender(instance: Instance, uid: number, offenders: Quarantine['offenders']): boolean {
  // Anybody may name its endpoint in a call: whose session it is, the listener says, where its process is known.
  const process = instance.listener?.pid === undefined ? instance.caller : instance.listener;
  if (process === undefined) return offenders.some((offender) => offender.uid === uid);
  return offenders.some((offender) => sameProcess(offender, process));
}
