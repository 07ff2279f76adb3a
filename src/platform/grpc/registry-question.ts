// Asks the listener on a socket whether it is a registry of device plugins: a kubelet, or a broker.
import { DEVICE_PLUGIN_VERSION } from '../../model/ids.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { RegisterRequest, registrationService } from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import type { Guarding } from './owned-sockets.js';
import { PluginChannel, type CallFailed } from './plugin-client.js';

/** A registry that takes longer counts as one. */
const ANSWER_WITHIN_MS = 1000;
/** Registries answer with nothing, or with a sentence in the trailers. */
const MAX_ANSWER_BYTES = 4096;

/** A registration of no resource: every registry refuses it, and knows the method. */
const OF_NOTHING = RegisterRequest.encode({ version: DEVICE_PLUGIN_VERSION, endpoint: '', resourceName: '' });

/**
 * Whether a living listener says that it knows no registrations of device plugins. False where it does not answer: a kubelet may
 * be busy.
 *
 * @param guarding the guards of the connection
 */
export async function isNoRegistry(file: string, guarding: Guarding): Promise<boolean> {
  const channel = new PluginChannel(file, MAX_ANSWER_BYTES, guarding, file);
  const never = new AbortController().signal;
  try {
    await channel.unary(registrationService.Register.path, OF_NOTHING, ANSWER_WITHIN_MS, never);
    return false;
  } catch (failure) {
    return (failure as CallFailed).status === GRPC_STATUS.UNIMPLEMENTED;
  } finally {
    channel.close();
  }
}
