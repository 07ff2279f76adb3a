import type { Rig } from '../rig.js';
import { ANY_DOOR, type Scenario } from '../scenario.js';
import { removePluginSockets } from '../sockets.js';
import { seconds, times } from '../subject.js';
import { Failed, type Passed } from '../verdict.js';

/** As long as the broker keeps the resource of a plugin that restarts itself (restart.settle). */
const SERVED_MS = 30_000;
/** How long registrations are counted after the return, and how many are still no storm: the burst of the default policy. */
const STORM_MS = 3_000;
const STORM_CALLS = 5;
/** The registry returns so often: the second return finds the damage of the first. */
const RETURNS = 2;

/** A restart of the registry that plugins need not notice. */
export const restartNowipe: Scenario = {
  name: 'restart-nowipe',
  does: 'stops the registry and starts it again, twice; sockets are kept',
  passesWhen: 'it is served again each time, without a storm of registrations, and can be found',
  doors: ANY_DOOR,
  notByKubelets: 'a kubelet deletes the sockets of plugins at each start',
  seconds: 9,
  run: (rig) => returns(rig, () => rig.stopBroker()),
  mend: {
    how: 'A registry that keeps sockets dials them again: serve ListAndWatch to every caller, each stream from a state they share, and do not close anything that a second stream needs when the first one ends. If you register again because of a new kubelet.sock, do it once.',
    go: 'func (p *plugin) ListAndWatch(_ *pluginapi.Empty, s pluginapi.DevicePlugin_ListAndWatchServer) error {\n\tupdates, cancel := p.state.Subscribe() // one subscription a stream, none shared\n\tdefer cancel()\n\tfor list := range updates {\n\t\tif err := s.Send(list); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn nil\n}',
    python:
      'def ListAndWatch(self, request, context):\n    with self.state.subscribe() as updates:  # one subscription a stream\n        for devices in updates:\n            yield ListAndWatchResponse(devices=devices)',
  },
};

/**
 * Lets the registry go and come back, twice, and watches the plugin.
 *
 * @param leave ends the registry
 * @param atOpen called when the registry serves again
 * @returns the evidence
 */
export async function returns(
  rig: Rig,
  leave: () => Promise<void>,
  atOpen: () => void = () => undefined,
): Promise<Passed> {
  await rig.comeUp();
  const mark = rig.witness.mark();
  const said: string[] = [];
  for (let turn = 1; turn <= RETURNS; turn += 1) {
    await leave();
    if (rig.profile === 'kubelet') removePluginSockets(rig.directories);
    said.push(await servedAgain(rig, turn, atOpen));
  }
  const lost = rig.lostSockets();
  if (lost.length > 0) {
    throw new Failed(
      'socket-lost',
      `${lost.join(', ')} is served, but its socket is gone, so that the next registry cannot find it`,
    );
  }
  return rig.passed(said.join('; after the second return '), mark);
}

async function servedAgain(rig: Rig, turn: number, atOpen: () => void): Promise<string> {
  const mark = rig.witness.mark();
  const openedAt = await rig.startBroker();
  atOpen();
  const untilMs = Date.now() + SERVED_MS;
  const which = turn === 1 ? "the registry's return" : `the registry's ${turn}nd return`;
  const check = async (): Promise<void> => {
    if (await rig.served(untilMs - Date.now())) return;
    const { name, state, reason } = rig.plugins.find((plugin) => plugin.state !== 'ready') ?? {};
    const how = name === undefined ? 'it is gone' : `${name} is ${state ?? ''} (${reason ?? ''})`;
    throw new Failed('never-back', `not served within ${seconds(SERVED_MS)} of ${which}: ${how}`);
  };
  await check();
  const servedMs = Date.now() - openedAt;
  await rig.pass(STORM_MS);
  await check();
  const calls = rig.mostCallsSince(mark);
  if (calls > STORM_CALLS) {
    throw new Failed(
      'storm',
      `it registered ${times(calls)} within ${seconds(Date.now() - openedAt)}, a storm that the default policy would have slowed down`,
    );
  }
  const how = calls === 0 ? 'without having to register' : `having registered ${times(calls)}`;
  return turn === 1 ? `served again ${seconds(servedMs)} after ${which}, ${how}` : `${seconds(servedMs)}, ${how}`;
}
