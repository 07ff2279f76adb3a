import type { Rig } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { seconds, times } from '../subject.js';
import { Failed } from '../verdict.js';

/** As long as the broker keeps the resource of a plugin that restarts itself (restart.settle). */
const SERVED_MS = 30_000;
/** How long registrations are counted after the return, and how many are still no storm: the burst of the default policy. */
const STORM_MS = 3_000;
const STORM_CALLS = 5;

/** A restart of the registry that plugins need not notice. */
export const restartNowipe: Scenario = {
  name: 'restart-nowipe',
  does: 'stops the registry and starts it again, sockets are kept',
  passesWhen: 'it is served again, without a storm of registrations',
  doors: ANY_DOOR,
  seconds: 5,
  run: async (rig) => {
    await rig.comeUp();
    await rig.stopBroker();
    return servedAgain(rig);
  },
};

/**
 * Starts the registry and watches the plugin come back.
 *
 * @param atOpen called when the registry serves
 * @returns the evidence
 */
export async function servedAgain(rig: Rig, atOpen: () => void = () => undefined): Promise<string> {
  const mark = rig.witness.mark();
  const openedAt = await rig.startBroker();
  atOpen();
  const untilMs = Date.now() + SERVED_MS;
  const check = async (): Promise<void> => {
    if (await rig.served(untilMs - Date.now())) return;
    const { name, state, reason } = rig.plugins.find((plugin) => plugin.state !== 'ready') ?? {};
    const how = name === undefined ? 'it is gone' : `${name} is ${state ?? ''} (${reason ?? ''})`;
    throw new Failed(`not served within ${seconds(SERVED_MS)} of the registry's return: ${how}`);
  };
  await check();
  const servedMs = Date.now() - openedAt;
  await rig.pass(STORM_MS);
  await check();
  const calls = rig.mostCallsSince(mark);
  if (calls > STORM_CALLS) {
    throw new Failed(
      `it registered ${times(calls)} within ${seconds(Date.now() - openedAt)}, a storm that the default policy would have slowed down`,
    );
  }
  const how = calls === 0 ? 'without having to register' : `having registered ${times(calls)}`;
  return `served again ${seconds(servedMs)} after the registry's return, ${how}`;
}
