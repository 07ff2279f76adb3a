// `resources [NAME]`
import type { Command } from 'commander';
import type { DeviceView, ResourceView } from '../../model/views.js';
import { HEALTHY } from '../../model/device.js';
import { table, type Column } from '../output/table.js';
import { visibleJson } from '../output/text.js';
import { painter, toneOfState, type Paint } from '../output/tones.js';
import { show } from '../output/watch.js';
import { clientOf, showing, withAddress, withWatch, type AddressOptions, type WatchOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addResources(program: Command, terminal: Terminal): void {
  const command = program.command('resources').argument('[name]', 'only this resource, with its devices');
  withWatch(withAddress(command))
    .summary('resources with their capacity; with a name, its devices')
    .description('Lists resources: all their devices (capacity), those that may be given out, and those that are.')
    .action(async (name: string | undefined, options: AddressOptions & WatchOptions) => {
      const client = clientOf(options, terminal);
      const isJson = options.output === 'json';
      await show(terminal, showing(options), async () => {
        const resources = await client.resources(name ?? '', !isJson && name === undefined);
        if (isJson) return `${visibleJson(resources, options.watch === true)}\n`;
        const paint = painter(terminal.hasColours);
        const devices = name === undefined ? [] : resources.map(({ devices }) => `\n${deviceTable(devices, paint)}`);
        return resourceTable(resources, paint) + devices.join('');
      });
    });
}

/** The table of resources. */
export function resourceTable(resources: readonly ResourceView[], paint: Paint): string {
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
