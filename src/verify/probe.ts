// A well-behaved plugin of our own. Before anything is said about somebody's plugin it shows that the broker was fine:
// it registers at the same door, is dialled back, and its device is counted.
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { Server, ServerCredentials, type ServerWritableStream, type ServiceError } from '@grpc/grpc-js';
import { DEVICE_PLUGIN, type PluginId } from '../model/ids.js';
import { GuardedClient } from '../platform/grpc/guarded-client.js';
import { unaryCall } from '../platform/grpc/unary-call.js';
import { systemClock } from '../platform/time/system-clock.js';
import { DEVICE_PLUGIN_VERSION } from '../model/ids.js';
import { devicePluginService, registrationService } from '../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import type { Changes } from './changes.js';
import type { Directories } from './directories.js';
import { seconds } from './subject.js';
import { BrokerFault } from './verdict.js';
import type { Witness } from './witness.js';

/** The probe's plugin. */
export const PROBE: PluginId = { type: DEVICE_PLUGIN, name: 'plugin-broker.verify/probe' };
/** Plugins do not look at names with a dot. Nobody who may write the directory can have taken one that cannot be foreseen. */
export const PROBE_SOCKET = `.probe-${randomBytes(6).toString('hex')}.sock`;
/** Register answers in milliseconds; only a broken broker or a machine on its knees needs this. */
const REGISTER_MS = 10_000;
const LISTED_MS = 10_000;
/** Longer than this for the whole of it, and short limits say more about the machine than about a plugin. */
const PROMPT_MS = 1_500;

/**
 * Registers, waits until its device counts, and leaves.
 *
 * @returns whether the broker, and the machine below it, did that promptly
 * @throws BrokerFault when it is not taken in
 */
export async function proveBroker(directories: Directories, witness: Witness, changes: Changes): Promise<boolean> {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(devicePluginService, {
    GetDevicePluginOptions: (_call: unknown, answer: (failure: null, options: object) => void) => answer(null, {}),
    ListAndWatch: (stream: ServerWritableStream<unknown, object>) => {
      stream.on('error', () => undefined);
      stream.write({ devices: [{ id: 'probe', health: 'Healthy' }] });
    },
  });
  const socket = path.join(directories.devicePlugins, PROBE_SOCKET);
  const startedAt = performance.now();
  try {
    await listen(server, socket);
    await register(directories.kubeletSocket);
    const counts = (): boolean => (witness.own?.allocatable ?? 0) > 0;
    if ((await changes.until(counts, LISTED_MS)) === undefined) {
      throw new BrokerFault(
        `the broker took a well-behaved plugin in, but did not count its device within ${seconds(LISTED_MS)}`,
      );
    }
  } finally {
    server.forceShutdown();
  }
  return performance.now() - startedAt <= PROMPT_MS;
}

function listen(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (failure) => {
      if (failure === null) resolve();
      else reject(new BrokerFault(`no plugin could be served beside the broker: ${failure.message}`));
    });
  });
}

async function register(kubeletSocket: string): Promise<void> {
  const client = new GuardedClient(`unix:${kubeletSocket}`, systemClock);
  const request = { version: DEVICE_PLUGIN_VERSION, endpoint: PROBE_SOCKET, resourceName: PROBE.name };
  try {
    await unaryCall(client, registrationService.Register, request, Date.now() + REGISTER_MS);
  } catch (failure) {
    const { details } = failure as ServiceError;
    throw new BrokerFault(`the broker did not take a well-behaved plugin in: ${details}`);
  } finally {
    client.close();
  }
}
