// The part of the configuration's form that is about giving out devices.
import * as z from 'zod';
import {
  cdiKind,
  choice,
  count,
  duration,
  envName,
  flag,
  list,
  optionalText,
  section,
  text,
  uids,
} from './leaf-schemas.js';

/** What a rule says about allocating. */
export const allocateRule = section({
  uids: uids.exactOptional().describe('Uids that may have their devices, beside root'),
  max: count(1, 1_000_000).exactOptional().describe('Devices of one resource that a uid may have at once'),
  consumer: choice('local', 'kubelet').exactOptional().describe('Whom the devices are for'),
  env: z
    .record(envName, choice('ids'))
    .exactOptional()
    .describe('Variables for owners: NAME: ids gives the device ids, joined by comma'),
})
  .exactOptional()
  .describe('Who may have their devices');

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
      .describe("The PodResources socket of a kubelet, whose answer is given together with the broker's; or off"),
  })
    .prefault({})
    .describe('The PodResources service, as the kubelet has it'),
};
