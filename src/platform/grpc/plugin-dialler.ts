// The session's and the watcher door's calls, on a channel each: to exactly the socket that was pinned.
import type { Clock } from '../../kernel/clock.js';
import type { Caller } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { PluginInfo, RegistrationClient } from '../../registration/ports.js';
import type { PluginConnection, PluginDialler } from '../../session/ports.js';
import { DevicePluginOptions, devicePluginService, Empty } from '../wire/services/device-plugin.js';
import {
  InfoRequest,
  PluginInfo as PluginInfoMessage,
  pluginRegistrationService,
  RegistrationStatus,
} from '../wire/services/plugin-registration.js';
import { CallFailed, PluginChannel } from './plugin-client.js';

const EMPTY = Empty.encode({});
/** Answers of registration sockets are small: names, versions, a path. */
const MAX_INFO_BYTES = 256 * 1024;

/** Dials device plugins. */
export function pluginDialler(maxMessageBytes: () => number, clock: Clock): PluginDialler {
  return {
    dial: (endpoint: PinnedSocket): PluginConnection => {
      // The library may connect again at any time until the channel is closed: that must be the socket that was checked.
      const pin = endpoint.retain();
      const channel = new PluginChannel(pin.dialPath, maxMessageBytes(), clock);
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
  clock: Clock,
  callerOf: (socket: PinnedSocket) => Caller | undefined,
): RegistrationClient {
  const once = async (
    socket: PinnedSocket,
    method: string,
    request: Buffer,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Buffer> => {
    const pin = socket.retain();
    const channel = new PluginChannel(pin.dialPath, MAX_INFO_BYTES, clock);
    try {
      return await channel.unary(method, request, limitMs, signal);
    } finally {
      channel.close();
      pin.release();
    }
  };
  const { GetInfo, NotifyRegistrationStatus } = pluginRegistrationService;
  return {
    callerOf,
    getInfo: async (socket, limitMs, signal): Promise<PluginInfo> => {
      const answer = await once(socket, GetInfo.path, InfoRequest.encode({}), limitMs, signal);
      return decoded(() => PluginInfoMessage.decode(answer));
    },
    notify: async (socket, error, limitMs, signal): Promise<void> => {
      const status = RegistrationStatus.encode({ pluginRegistered: error === undefined, error: error ?? '' });
      await once(socket, NotifyRegistrationStatus.path, status, limitMs, signal);
    },
  };
}

/** An answer that cannot be decoded is a failed call like any other. */
function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (problem) {
    throw new CallFailed(
      GRPC_STATUS.INTERNAL,
      problem instanceof Error ? problem.message : 'the answer cannot be decoded',
    );
  }
}
