// The sections of the configuration that say where things are, and who may reach them.
import { absolutePath, fileMode, group, list, section, text } from './leaf-schemas.js';

/** The key `paths`. */
export const paths = section({
  root: text
    .default('auto')
    .describe(
      'Where everything is; auto: /var/lib/plugin-broker as root, else $XDG_STATE_HOME/plugin-broker or ~/.local/state/plugin-broker',
    ),
  devicePlugins: text
    .default('device-plugins')
    .describe('The Register door: kubelet.sock and the sockets of device plugins; relative paths are below the root'),
  pluginsRegistry: text.default('plugins_registry').describe('The watcher door: registration sockets'),
  plugins: text.default('plugins').describe('Sockets of CSI and DRA drivers'),
  state: text.default('state').describe('Checkpoint, events and lock'),
  brokerSocket: text.default('broker.sock').describe('The socket of the admin commands'),
  allocSocket: text.default('alloc.sock').describe('The socket on which processes ask for devices'),
  podResources: text.default('pod-resources').describe('The directory of the PodResources socket, kubelet.sock'),
  map: list(
    section({ from: absolutePath.describe('As plugins spell it'), to: absolutePath.describe('As the broker sees it') }),
    'pairs of from and to',
  )
    .default([])
    .describe(
      'Prefixes of endpoints to translate where plugins see the host differently, a list of {from, to}; the first match wins',
    ),
});

/** The key `socket`. */
export const socket = section({
  mode: fileMode
    .default('0755')
    .describe(
      "File mode of kubelet.sock, in quotes; who may write it may connect, so '0755' is its owner (and root) alone, as with the kubelet's own",
    ),
  group: group
    .default('inherit')
    .describe('Group of kubelet.sock, by name or number; inherit: what its directory gives'),
});
