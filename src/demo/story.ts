// The story on one screen: each claim is made only after it was seen.
import { sleep, type Clock } from '../kernel/clock.js';
import type { Lease } from '../generated/proto/pluginbroker/v1/allocator.js';
import type { StatusView } from '../model/views.js';
import { AllocationFailure } from '../platform/grpc/allocator-client.js';
import type { Stage } from './stage.js';

/** The screen of the demo. */
export interface Screen {
  /** A new part of the story. */
  heading(text: string): void;
  /** Something that was seen. */
  seen(text: string): void;
  /** The resources as they are now. */
  picture(status: StatusView): void;
}

const STEADY = 'demo.example/steady';
const FLAPPING = 'demo.example/flapping';
const FLOODING = 'demo.example/flooding';
/** More than the first owner leaves. */
const SECOND = { wants: [{ resource: STEADY, count: 2 }], key: 'second' };
/** A step that takes longer than this has failed. */
const STEP_MS = 30_000;
const LOOK_MS = 20;

/** Tells the story. @throws Error naming the effect that was not seen */
export async function tellStory(stage: Stage, screen: Screen, clock: Clock): Promise<void> {
  const see = <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => seen(clock, what, look);
  const status = (): Promise<StatusView> => stage.admin.status(true);
  const resource = async (name: string): Promise<StatusView['resources'][number] | undefined> =>
    (await status()).resources.find((one) => one.name === name);
  const when = (what: string, holds: (view: StatusView) => boolean): Promise<StatusView> =>
    see(what, async () => {
      const view = await status();
      return holds(view) ? view : undefined;
    });
  const counts = (view: StatusView, name: string): string => {
    const one = view.resources.find((each) => each.name === name);
    return one === undefined ? '-' : `${String(one.allocatable)}/${String(one.capacity)}`;
  };

  screen.heading('A broker, and plugins through both doors');
  stage.startBroker();
  await when('the broker is ready', ({ broker }) => broker.phase === 'ready');
  screen.seen(`the broker serves ${stage.root}/device-plugins/kubelet.sock and watches plugins_registry/`);
  const leave = stage.startPlugin(`--resource ${STEADY} --devices 4`);
  stage.startPlugin(`--resource ${FLAPPING} --devices 8 --door watcher --flap 400ms --flap-devices 3`);
  screen.picture(
    await when('both plugins serve', (view) => counts(view, STEADY) === '4/4' && view.resources.length === 2),
  );
  screen.seen('steady called Register and was dialled back; flapping was found by its socket and told so');

  screen.heading('Devices flip, a plugin leaves and comes back');
  await see('flapping devices become unhealthy', async () =>
    (await resource(FLAPPING))?.allocatable === 5 ? true : undefined,
  );
  await see('and healthy again', async () => ((await resource(FLAPPING))?.allocatable === 8 ? true : undefined));
  screen.seen('flapping went from 8 allocatable devices to 5 and back, as its stream said');
  await leave();
  await when('steady is held', (view) => counts(view, STEADY) === '0/4');
  screen.seen('steady left: its capacity is held for its grace, nothing of it can be allocated');
  stage.startPlugin(`--resource ${STEADY} --devices 4`);
  await when('steady is back', (view) => counts(view, STEADY) === '4/4');
  screen.seen('steady came back with a new socket: 4 of 4 devices');

  screen.heading('A plugin that registers in a loop');
  stage.startPlugin(`--resource ${FLOODING} --devices 2 --register-every 40ms --fresh --on-refused retry --retry 40ms`);
  const flooded = await when('flooding is in quarantine', ({ plugins }) =>
    plugins.some(({ name, quarantinedUntil }) => name === FLOODING && quarantinedUntil !== ''),
  );
  const struck = flooded.plugins.find(({ name, quarantinedUntil }) => name === FLOODING && quarantinedUntil !== '');
  screen.seen(`flooding was refused, then put into quarantine until ${struck?.quarantinedUntil ?? ''}`);
  const beside = await when('the others notice nothing', (view) => counts(view, STEADY) === '4/4');
  screen.seen('steady and flapping noticed nothing');
  screen.picture(beside);

  screen.heading('Devices are used, and nobody else gets them');
  const leaveOwner = stage.startOwner(`${STEADY}=3`);
  const held = await see('a lease of three devices', () => leaseOf(stage));
  screen.seen(`run has ${idsOf(held)} of steady, for as long as its command runs`);
  screen.seen(`a second owner that asks for two is refused: ${await refusalOf(stage)}`);

  screen.heading('kill -9 of the broker, in the middle of it');
  const oldPid = stage.brokerPid;
  await stage.killBroker();
  screen.seen(`pid ${String(oldPid)} is dead; no plugin was told, none acts`);
  const killedAt = clock.mono();
  stage.startBroker();
  const after = await when('the next broker answers', ({ broker }) => broker.pid === stage.brokerPid);
  const servedMs = Math.round(clock.mono() - killedAt);
  if (counts(after, STEADY) !== '4/4') throw new Error(`steady is ${counts(after, STEADY)} right after the restart`);
  if (!after.resources.some(({ name, capacity }) => name === FLAPPING && capacity === 8))
    throw new Error('flapping is lost');
  screen.picture(after);
  screen.seen(`served from the checkpoint ${String(servedMs)} ms after the start of the process: nothing lost`);
  const confirmed = await when('all are confirmed', ({ broker }) => broker.phase === 'ready');
  screen.seen(`each plugin was dialled and confirmed after ${String(Math.round(clock.mono() - killedAt))} ms`);
  const still = confirmed.plugins.some(({ name, quarantinedUntil }) => name === FLOODING && quarantinedUntil !== '');
  const kept = still || (await stage.admin.limits(FLOODING)).some(({ quarantinedUntil }) => quarantinedUntil !== '');
  if (!kept) throw new Error('the quarantine is forgotten');
  screen.seen('flooding is still in quarantine: a restart is no amnesty');
  const stillHeld = await see('the lease', () => leaseOf(stage));
  if (stillHeld.id !== held.id || idsOf(stillHeld) !== idsOf(held)) throw new Error('the lease is another one');
  screen.seen(
    `the lease is the same, of ${idsOf(stillHeld)}, and the second owner is still refused: ${await refusalOf(stage)}`,
  );
  await leaveOwner();
  await see('the devices are free again', async () => ((await leaseOf(stage)) === undefined ? true : undefined));
  const second = await stage.allocator.allocate(SECOND, stage.signal);
  screen.seen(`the command ended, and its devices are free: the second owner has ${idsOf(second)}`);
}

/** The one lease that there is. */
async function leaseOf(stage: Stage): Promise<Lease | undefined> {
  return (await stage.allocator.list(STEADY, stage.signal))[0];
}

function idsOf({ granted }: Lease): string {
  return granted.flatMap(({ ids }) => ids).join(', ');
}

/** The second owner's refusal. @throws Error when it is given devices */
async function refusalOf(stage: Stage): Promise<string> {
  try {
    const { id } = await stage.allocator.allocate(SECOND, stage.signal);
    throw new Error(`the second owner was given devices that others have, as lease ${id}`);
  } catch (failure) {
    if (failure instanceof AllocationFailure && failure.reason === 'NO_DEVICES') return failure.message;
    throw failure;
  }
}

async function seen<T>(clock: Clock, what: string, look: () => Promise<T | undefined>): Promise<T> {
  const until = clock.mono() + STEP_MS;
  let last: unknown;
  while (clock.mono() < until) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (failure) {
      last = failure; // the broker may be starting; the error below carries its last answer
    }
    await sleep(clock, LOOK_MS);
  }
  throw new Error(
    `not seen within ${String(STEP_MS / 1000)} s: ${what}`,
    last === undefined ? undefined : { cause: last },
  );
}
