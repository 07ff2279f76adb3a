// The plugin registration API of the watcher door (proto/pluginregistration/v1/pluginregistration.proto).
import { message } from '../codec.js';
import type { Message } from '../table.js';
import { unary } from './method.js';

export const InfoRequest = message('pluginregistration.InfoRequest', {});
export const PluginInfo = message('pluginregistration.PluginInfo', {
  type: [1, 'string'],
  name: [2, 'string'],
  endpoint: [3, 'string'],
  supportedVersions: [4, 'repeated', 'string'],
});
export const RegistrationStatus = message('pluginregistration.RegistrationStatus', {
  pluginRegistered: [1, 'bool'],
  error: [2, 'string'],
});
export const RegistrationStatusResponse = message('pluginregistration.RegistrationStatusResponse', {});

/** What a plugin says of itself. */
export type PluginInfo = Message<typeof PluginInfo>;

/** Served by a plugin, or by its registrar, on a socket in the registry directory. */
export const pluginRegistrationService = {
  GetInfo: unary('/pluginregistration.Registration/GetInfo', InfoRequest, PluginInfo),
  NotifyRegistrationStatus: unary(
    '/pluginregistration.Registration/NotifyRegistrationStatus',
    RegistrationStatus,
    RegistrationStatusResponse,
  ),
};
