// The part of the configuration's form that is about standing before a kubelet.
import { absolutePath, choice, duration, flag, glob, list, section } from './leaf-schemas.js';

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
