// The session's calls, on a channel for each incarnation: to exactly the socket that was pinned.
import type { PinnedSocket } from '../../model/plugin.js';
import type { PluginConnection, PluginDialler } from '../../session/ports.js';
import {
  DevicePluginOptions,
  devicePluginService,
  Empty,
} from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import type { Guarding } from './owned-sockets.js';
import { decoded, deviceCalls } from './plugin-calls.js';
import { PluginChannel } from './plugin-client.js';

/** The largest answer about options, which are two flags. */
const MAX_OPTIONS_BYTES = 4096;

const EMPTY = Empty.encode({});

/** Dials device plugins. */
export function pluginDialler(maxMessageBytes: () => number, guarding: Guarding): PluginDialler {
  return {
    dial: (endpoint: PinnedSocket): PluginConnection => {
      // The library may connect again at any time until the channel is closed: that must be the socket that was checked.
      const pin = endpoint.retain();
      const channel = new PluginChannel(pin.dialPath, maxMessageBytes(), guarding, pin.path, pin.uid);
      let isClosed = false;
      return {
        options: async (limitMs, signal) => {
          const { path } = devicePluginService.GetDevicePluginOptions;
          const answer = await channel.unary(path, EMPTY, limitMs, signal, MAX_OPTIONS_BYTES);
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
