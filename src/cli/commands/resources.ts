// `resources [NAME]`
import { Option, type Command } from 'commander';
import type { DeviceView, ResourceView } from '../../model/views.js';
import { HEALTHY } from '../../model/device.js';
import type { Terminal } from '../terminal.js';
import { showList, type ListOptions } from '../listing.js';
import { toneOfState, type Paint } from '../output/tones.js';
import { table, type Column } from '../output/table.js';
import { isForPrograms } from '../output/format.js';
import { LIST_FORMATS, withAddress, withWatch } from '../options.js';
import { stateList } from './plugins.js';

interface ResourcesOptions extends ListOptions {
  readonly state?: ReadonlySet<string>;
}

/** Adds the command. */
export function addResources(program: Command, terminal: Terminal): void {
  const command = program
    .command('resources')
    .argument('[name]', 'only this resource, with its devices; or those that match a glob');
  withWatch(withAddress(command), LIST_FORMATS)
    .summary('resources with their capacity; with a name, its devices')
    .description('Lists resources: all their devices (capacity), those that may be given out, and those that are.')
    .addOption(new Option('--state <states>', 'only those in one of these states: held,gone').argParser(stateList))
    .action((name: string | undefined, options: ResourcesOptions) =>
      showList(terminal, options, name, {
        what: 'resource',
        ask: (client, one) => client.resources(one, !isForPrograms(options.output) && one === ''),
        namesOf: (one) => [one.name],
        isWanted: (one) => options.state?.has(one.state) ?? true,
        nameOf: (one) => one.name,
        text: (resources, paint, isOne) => {
          const devices = isOne ? resources.map((one) => `\n${deviceTable(one.devices, paint)}`) : [];
          return resourceTable(resources, paint, options.output === 'wide') + devices.join('');
        },
      }),
    );
}

/** The table of resources; `isWide` adds their consumers. */
export function resourceTable(resources: readonly ResourceView[], paint: Paint, isWide = false): string {
  if (resources.length === 0) return 'no resources\n';
  const columns: readonly Column<ResourceView>[] = [
    { title: 'NAME', of: (resource) => resource.name },
    { title: 'STATE', of: (resource) => resource.state, tone: (resource) => toneOfState(resource.state) },
    { title: 'CAPACITY', of: (resource) => resource.capacity },
    {
      title: 'ALLOCATABLE',
      of: (resource) => resource.allocatable,
      tone: (resource) => (resource.allocatable < resource.capacity ? 'warn' : 'plain'),
    },
    { title: 'ALLOCATED', of: (resource) => resource.allocated },
    ...(resources.some(({ front }) => front.state !== 'off')
      ? [{ title: 'KUBELET', of: ({ front }: ResourceView) => front.state }]
      : []),
    { title: 'PLUGIN', of: (resource) => resource.plugin },
    ...(isWide ? [{ title: 'CONSUMER', of: ({ consumer }: ResourceView) => consumer }] : []),
  ];
  return table(columns, resources, paint);
}

/** The table of the devices of a resource; with columns for owner and lease when any device has one. */
export function deviceTable(devices: readonly DeviceView[], paint: Paint): string {
  if (devices.length === 0) return 'no devices\n';
  const columns: readonly Column<DeviceView>[] = [
    { title: 'DEVICE', of: (device) => device.id },
    {
      title: 'HEALTH',
      of: (device) => device.health,
      tone: (device) => (device.health === HEALTHY ? 'good' : 'bad'),
    },
    { title: 'NUMA', of: (device) => device.numaNodes.join(',') },
    ...(devices.some(({ owner }) => owner !== '') ? [{ title: 'OWNER', of: ({ owner }: DeviceView) => owner }] : []),
    // Devices of pods are in no lease.
    ...(devices.some(({ lease }) => lease !== '') ? [{ title: 'LEASE', of: ({ lease }: DeviceView) => lease }] : []),
  ];
  return table(columns, devices, paint);
}
