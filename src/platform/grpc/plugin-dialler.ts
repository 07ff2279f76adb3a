// The session's and the watcher door's calls, on a channel each: to exactly the socket that was pinned.
import { callerBehind, type Listener } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { PluginInfo, RegistrationClient } from '../../registration/ports.js';
import type { PluginConnection, PluginDialler } from '../../session/ports.js';
import {
  DevicePluginOptions,
  devicePluginService,
  Empty,
} from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import {
  InfoRequest,
  PluginInfo as PluginInfoMessage,
  registrationService as pluginRegistrationService,
  RegistrationStatus,
} from '../../generated/proto/pluginregistration/v1/pluginregistration.js';
import type { Guarding } from './owned-sockets.js';
import { decoded, deviceCalls } from './plugin-calls.js';
import { CallFailed, PluginChannel } from './plugin-client.js';
import { transportFault } from './transport-fault.js';

const EMPTY = Empty.encode({});
/** Answers of registration sockets are small: names, versions, a path. */
const MAX_INFO_BYTES = 256 * 1024;

/** Dials device plugins. */
export function pluginDialler(maxMessageBytes: () => number, guarding: Guarding): PluginDialler {
  return {
    dial: (endpoint: PinnedSocket): PluginConnection => {
      // The library may connect again at any time until the channel is closed: that must be the socket that was checked.
      const pin = endpoint.retain();
      const channel = new PluginChannel(pin.dialPath, maxMessageBytes(), guarding, pin.path);
      let isClosed = false;
      return {
        options: async (limitMs, signal) => {
          const { path } = devicePluginService.GetDevicePluginOptions;
          const answer = await channel.unary(path, EMPTY, limitMs, signal);
          const options = decoded(() => DevicePluginOptions.decode(answer));
          return {
            preStartRequired: options.preStartRequired,
            preferredAllocationAvailable: options.getPreferredAllocationAvailable,
          };
        },
        listAndWatch: () => channel.stream(devicePluginService.ListAndWatch.path, EMPTY),
        calls: deviceCalls(channel),
        onLost: (lost) => channel.onConnectionLost(lost),
        close: () => {
          if (isClosed) return;
          isClosed = true;
          channel.close();
          pin.release();
        },
      };
    },
  };
}

/** Calls registration sockets, each call on a connection of its own: one opened minutes ago may be gone. */
export function registrationClient(
  guarding: Guarding,
  listenerOf: (socket: PinnedSocket) => Listener,
): RegistrationClient {
  const once = async (
    socket: PinnedSocket,
    method: string,
    request: Buffer,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Buffer> => {
    const pin = socket.retain();
    const channel = new PluginChannel(pin.dialPath, MAX_INFO_BYTES, guarding, pin.path);
    try {
      return await channel.unary(method, request, limitMs, signal);
    } finally {
      channel.close();
      pin.release();
    }
  };
  const { GetInfo, NotifyRegistrationStatus } = pluginRegistrationService;
  return {
    callerOf: (socket) => {
      const listener = listenerOf(socket);
      return 'error' in listener ? undefined : callerBehind(listener);
    },
    getInfo: async (socket, limitMs, signal): Promise<PluginInfo> => {
      // Microseconds where a channel costs a millisecond: a directory may be full of sockets on which nobody listens.
      const listener = listenerOf(socket);
      if ('error' in listener && listener.error !== 'EAGAIN') {
        const status = GRPC_STATUS.UNAVAILABLE;
        throw new CallFailed(status, `connect ${listener.error}`, transportFault(status, listener.error));
      }
      const answer = await once(socket, GetInfo.path, InfoRequest.encode({}), limitMs, signal);
      return decoded(() => PluginInfoMessage.decode(answer));
    },
    notify: async (socket, error, limitMs, signal): Promise<void> => {
      const status = RegistrationStatus.encode({ pluginRegistered: error === undefined, error: error ?? '' });
      await once(socket, NotifyRegistrationStatus.path, status, limitMs, signal);
    },
  };
}
