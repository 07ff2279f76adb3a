// Names that another registrar serves. The directory of registration sockets is root's, and a driver chooses its name: one of an
// ordinary user that takes the name of root's driver would have this program replace the registration socket of that.
import path from 'node:path';
import { registrationService } from '../generated/proto/pluginregistration/v1/pluginregistration.js';
import type { Clock } from '../kernel/clock.js';
import { ifPossible } from '../kernel/if-possible.js';
import { statusOf, statusOfName } from '../platform/fs/name-calls.js';
import { otherWriters, writersOf } from '../platform/fs/name-movers.js';
import { GuardedClient } from '../platform/grpc/guarded-client.js';
import { unaryCall } from '../platform/grpc/unary-call.js';
import { isOursOrRoots } from '../platform/process/own-uid.js';
import { failed } from './exit.js';

/** A registrar that serves answers in milliseconds. */
const ANSWER_WITHIN_MS = 1000;

/** A driver that is about to be registered. */
export interface Newcomer {
  readonly driver: string;
  /** Its own address, as the registrar was told it. */
  readonly csiAddress: string;
  /** Its address as the kubelet sees it. */
  readonly endpoint: string;
  /** The path of its registration socket. */
  readonly socket: string;
}

/**
 * Makes sure that the driver of an ordinary user takes no other driver's name: the one whose registrar answers there now, with another
 * endpoint. A registrar of the same endpoint, and one that does not answer, is replaced, as the original does.
 *
 * @throws Exit when it would
 */
export async function needOwnName({ driver, csiAddress, endpoint, socket }: Newcomer, clock: Clock): Promise<void> {
  const file = csiAddress.replace(/^unix:(?:\/\/)?/, '');
  if (!path.isAbsolute(file) || !isOfOrdinaryUser(file)) return;
  const served = await endpointServedAt(socket, clock);
  if (served === undefined || served === endpoint) return;
  throw failed(
    'NameTaken',
    `another CSI driver is called ${driver}, and its registrar serves ${socket}: the driver at ${csiAddress} is no driver of root's, and takes no other's name; stop that registrar first if both are one`,
  );
}

/** Whether an ordinary user decides which socket is at a path: it made the file, or may put another one there. */
function isOfOrdinaryUser(file: string): boolean {
  const directory = ifPossible(() => statusOf(path.dirname(file)));
  const socket = ifPossible(() => statusOfName(file));
  if (directory === undefined || socket === undefined) return true;
  return otherWriters(writersOf(directory)) !== undefined || !isOursOrRoots(Number(socket.uid));
}

async function endpointServedAt(socket: string, clock: Clock): Promise<string | undefined> {
  if (ifPossible(() => statusOfName(socket))?.isSocket() !== true) return undefined;
  const client = new GuardedClient(`unix:${socket}`, clock);
  try {
    const { endpoint } = await unaryCall(client, registrationService.GetInfo, {}, Date.now() + ANSWER_WITHIN_MS);
    return endpoint;
  } catch {
    return undefined;
  } finally {
    client.close();
  }
}
