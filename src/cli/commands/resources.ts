// `resources [NAME]`
import { Option, type Command } from 'commander';
import type { DeviceView, ResourceView } from '../../model/views.js';
import { HEALTHY } from '../../model/device.js';
import type { Terminal } from '../terminal.js';
import { isGlob, matching } from '../names.js';
import { painter, toneOfState, type Paint } from '../output/tones.js';
import { table, type Column } from '../output/table.js';
import { documentText, isForPrograms, namesText, type OutputFormat } from '../output/format.js';
import { visible } from '../output/text.js';
import { show } from '../output/watch.js';
import {
  clientOf,
  LIST_FORMATS,
  showing,
  withAddress,
  withWatch,
  type AddressOptions,
  type WatchOptions,
} from '../options.js';
import { stateList } from './plugins.js';

interface ResourcesOptions extends AddressOptions, WatchOptions<OutputFormat> {
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
    .action(async (name: string | undefined, options: ResourcesOptions) => {
      const client = clientOf(options, terminal);
      const { output, state } = options;
      const isOne = name !== undefined && !isGlob(name);
      await show(terminal, showing(options), async () => {
        const all = await client.resources(isOne ? name : '', !isForPrograms(output) && !isOne);
        const named = name === undefined || isOne ? all : matching(name, 'resource', all, (one) => [one.name]);
        const resources = named.filter((one) => state?.has(one.state) ?? true);
        if (isForPrograms(output)) return documentText(resources, output, options.watch === true);
        if (output === 'name') return namesText(resources.map((one) => visible(one.name)));
        const paint = painter(terminal.hasColours);
        const devices = isOne ? resources.map((one) => `\n${deviceTable(one.devices, paint)}`) : [];
        return resourceTable(resources, paint, output === 'wide') + devices.join('');
      });
    });
}

/** The table of resources; `isWide` adds for whom they are. */
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

function deviceTable(devices: readonly DeviceView[], paint: Paint): string {
  if (devices.length === 0) return 'no devices\n';
  const columns: readonly Column<DeviceView>[] = [
    { title: 'DEVICE', of: (device) => device.id },
    {
      title: 'HEALTH',
      of: (device) => device.health,
      tone: (device) => (device.health === HEALTHY ? 'good' : 'bad'),
    },
    { title: 'NUMA', of: (device) => device.numaNodes.join(',') },
  ];
  return table(columns, devices, paint);
}
