// Calls the plugin as a kubelet does that gives its devices to containers.
import { setMaxListeners } from 'node:events';
import { DEVICE_PLUGIN } from '../model/ids.js';
import { GRPC_STATUS } from '../model/reasons.js';
import { AllocateRequest, AllocateResponse } from '../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { AdminClient } from '../platform/grpc/admin-client.js';
import { CallFailed } from '../platform/grpc/plugin-client.js';
import { pluginDialler } from '../platform/grpc/plugin-dialler.js';
import { DEFAULT_GUARD } from '../platform/http2/default-guard.js';
import { systemClock } from '../platform/time/system-clock.js';
import type { Rig } from './rig.js';
import { pinRegistered } from './sockets.js';
import { seconds } from './subject.js';
import { BrokerFault, Failed } from './verdict.js';

/** Calls of one scenario at the same time, and other waiters for its end. */
const MOST_AT_ONCE = 100;
/** Answers to Allocate are small: names, paths, variables. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** A connection to one socket of the plugin. */
type PluginConnection = ReturnType<ReturnType<typeof pluginDialler>['dial']>;

/** One resource of the plugin, and the server that answers for its devices. */
export interface DeviceCaller {
  readonly resource: string;
  /** Ids of its healthy devices, in the order of its list. */
  readonly healthy: readonly string[];
  readonly connection: PluginConnection;
  readonly signal: AbortSignal;
}

/**
 * Connects to the resource with the most healthy devices, as it is now.
 *
 * @param work is done while the connection is open
 */
export async function withDevices<T>(rig: Rig, work: (caller: DeviceCaller) => Promise<T>): Promise<T> {
  const [plugin] = rig.plugins
    .filter(({ type }) => type === DEVICE_PLUGIN)
    .toSorted((a, b) => b.allocatable - a.allocatable);
  if (plugin === undefined) throw new BrokerFault('the broker lost a plugin that nobody touched');
  const { signal } = rig.changes;
  // Each of the calls that are made at once listens to it.
  setMaxListeners(MOST_AT_ONCE, signal);
  const admin = new AdminClient(rig.directories.brokerSocket, systemClock, signal);
  const [resource] = await admin.resources(plugin.name, false);
  const healthy = (resource?.devices ?? []).filter(({ health }) => health === 'Healthy').map(({ id }) => id);
  const pin = pinRegistered(rig.directories, plugin);
  if ('problem' in pin) throw new Failed('socket-lost', `its socket cannot be called any more: ${pin.detail}`);
  const dialler = pluginDialler(() => MAX_ANSWER_BYTES, { clock: systemClock, guard: () => DEFAULT_GUARD });
  const connection = dialler.dial(pin);
  try {
    return await work({ resource: plugin.name, healthy, connection, signal });
  } finally {
    connection.close();
    pin.release();
  }
}

/** How a call ended: the answer, or the words of the refusal and whether it was one at all. */
export type CallOutcome<T> = { readonly answer: T } | { readonly words: string; readonly isLate: boolean };

/** Makes a call that may be refused. */
async function outcome<T>(call: Promise<T>): Promise<CallOutcome<T>> {
  try {
    return { answer: await call };
  } catch (thrown) {
    if (!(thrown instanceof CallFailed)) throw thrown;
    return { words: thrown.message, isLate: thrown.status === GRPC_STATUS.DEADLINE_EXCEEDED };
  }
}

/** The answer of a call that may not be refused. @throws Failed with the call and its failure */
export async function answered<T>(what: string, limitMs: number, call: Promise<T>): Promise<T> {
  const found = await outcome(call);
  if ('answer' in found) return found.answer;
  if (found.isLate) throw new Failed('hung', `${what} was not answered within ${seconds(limitMs)}`);
  throw new Failed('wrong-answer', `${what} was refused: ${found.words}`);
}

/**
 * Calls Allocate for one container, as a kubelet does.
 *
 * @param limitMs as long as it may take
 * @returns the meaning of the answer, independent of the order of its parts; or its refusal
 * @throws Failed when the answer cannot be used
 */
export async function allocateOnce(
  { connection, signal }: DeviceCaller,
  ids: readonly string[],
  limitMs: number,
): Promise<CallOutcome<string>> {
  const request = AllocateRequest.encode({ containerRequests: [{ devicesIds: ids }] });
  const found = await outcome(connection.calls.call('Allocate', request, limitMs, signal));
  return 'answer' in found ? { answer: meaningOf(ids, found.answer) } : found;
}

function meaningOf(ids: readonly string[], bytes: Buffer): string {
  const wrong = (why: string): Failed =>
    new Failed('wrong-answer', `its answer to Allocate of ${ids.join(', ')} ${why}`);
  let answers: readonly Record<string, unknown>[];
  try {
    answers = AllocateResponse.decode(bytes).containerResponses;
  } catch (problem) {
    throw wrong(`cannot be decoded: ${(problem as Error).message}`);
  }
  const [answer] = answers;
  if (answer === undefined) throw wrong('is for no container, which a kubelet takes for an error');
  const sorted = (value: unknown): readonly string[] =>
    [...(value as Iterable<unknown>)].map((one) => JSON.stringify(one)).sort();
  return JSON.stringify(Object.entries(answer).map(([name, value]) => [name, sorted(value)]));
}
