// Sections of the configuration's form, each with its keys: where things are, leases, and standing before a kubelet.
import * as z from 'zod';
import {
  absolutePath,
  cdiKind,
  choice,
  count,
  duration,
  envName,
  fileMode,
  flag,
  glob,
  group,
  list,
  optionalText,
  section,
  text,
  uids,
} from './leaf-schemas.js';

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
      "File mode of kubelet.sock, in quotes; users that may write it may connect, so '0755' is its owner (and root) alone, as with the kubelet's own",
    ),
  group: group
    .default('inherit')
    .describe('Group of kubelet.sock, by name or number; inherit: the default of its directory'),
});

/** The part of a rule about allocating. */
export const allocateRule = section({
  uids: uids.exactOptional().describe('Uids that may have their devices, beside root'),
  max: count(1, 1_000_000).exactOptional().describe('Devices of one resource that a uid may have at once'),
  consumer: choice('local', 'kubelet').exactOptional().describe('The consumer of the devices'),
  env: z
    .record(envName, choice('ids'))
    .exactOptional()
    .describe('Variables for owners: NAME: ids gives the device ids, joined by comma'),
})
  .exactOptional()
  .describe('The owners that may have their devices');

/** The sections about leases. */
export const allocationSections = {
  allocator: section({
    enabled: flag.default(true).describe('Whether devices are given out at all'),
    group: optionalText
      .default('')
      .describe("Group (name or number) whose members may open alloc.sock; empty: the broker's own"),
    check: duration.default('10s').describe('How often it is looked whether the owners of leases still live'),
    joinEnv: list(envName, 'names of variables')
      .default([])
      .describe('Variables that several plugins may set in one lease; their values are joined by comma'),
    maxLeases: count(1, 1024).default(1024).describe('Leases at most'),
  })
    .prefault({})
    .describe('Giving out devices (alloc.sock)'),
  cdi: section({
    dir: text
      .default('auto')
      .describe('Where CDI files of leases go; auto: /var/run/cdi as root, else cdi below the root; off: nowhere'),
    kind: cdiKind.default('plugin-broker/lease').describe('Vendor and class of their names'),
  })
    .prefault({})
    .describe('Container Device Interface'),
  podResources: section({
    enabled: flag.default(true).describe('Whether leases are shown there'),
    upstream: text
      .default('off')
      .describe(
        "The PodResources socket of a kubelet, whose answer is given together with the broker's; the front asks it, too; or off",
      ),
  })
    .prefault({})
    .describe('The PodResources service, as the kubelet has it'),
};

/** The section `front`. */
export const frontSection = section({
  enabled: flag.default(false).describe('Whether resources are offered to the kubelet of this node'),
  kubeletDir: absolutePath
    .default('/var/lib/kubelet')
    .describe("The kubelet's directory, with its device-plugins, plugins_registry, plugins and pod-resources"),
  doors: choice('both', 'register')
    .default('both')
    .describe("both: Register, and an entry in the kubelet's registry; register: Register alone"),
  resources: list(glob, 'globs').default(['*']).describe('Globs of which the name of a resource must match one'),
  exclude: list(glob, 'globs').default([]).describe('Globs of which it must match none'),
  hold: duration
    .default('2s')
    .describe('How long Allocate waits for a plugin that is away; all pods of the node wait with it'),
  speculate: choice('off', 'gated')
    .default('off')
    .describe('gated: after a reboot the kubelet is told the last lists, and containers wait for their plugins'),
  speculateFor: duration.default('2m').describe('How long it is told so; then these devices are unhealthy'),
})
  .prefault({})
  .describe('In front of a kubelet');
