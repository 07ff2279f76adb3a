// Leases as commands print them.
import { nameInText, visible } from '../kernel/visible.js';
import type { Lease } from '../generated/proto/pluginbroker/v1/allocator.js';
import { ownerText } from '../model/lease.js';
import { CliError, EXIT } from './exit.js';
import { visibleJson } from './output/text.js';

/** How `allocate` can print a lease. */
export const LEASE_FORMATS = ['text', 'json', 'env', 'cdi', 'args'] as const;
/** One of them. */
export type LeaseFormat = (typeof LEASE_FORMATS)[number];

/** A lease as plain data. Names of variables come from plugins, so they are keys of objects only here, at the very end. */
export function leaseJson(lease: Lease): object {
  return { ...lease, envs: Object.fromEntries(lease.envs), annotations: Object.fromEntries(lease.annotations) };
}

/**
 * A lease in one of the formats, with its line break: `env` for a shell's `eval`, `cdi` one name a line, `args` options for
 * podman, docker and nerdctl.
 *
 * @throws CliError when the lease has no CDI name and one is asked for
 */
export function leaseText(lease: Lease, format: LeaseFormat): string {
  switch (format) {
    case 'json':
      return `${visibleJson(leaseJson(lease), false)}\n`;
    case 'env':
      return [...lease.envs].map(([name, value]) => `${exported(name, value)}\n`).join('');
    case 'cdi':
      return cdiNames(lease)
        .map((name) => `${visible(name)}\n`)
        .join('');
    case 'args':
      return `${cdiNames(lease)
        .map((name) => shellWord(`--device=${name}`))
        .join(' ')}\n`;
    case 'text':
      return `${lease.id} has ${grantedText(lease)}\n`;
  }
}

/** Devices by resource: `vendor.example/gpu: g0 g1, vendor.example/tty: t3`. */
export function grantedText({ granted }: Pick<Lease, 'granted'>): string {
  return granted.map(({ resource, ids }) => `${visible(resource)}: ${ids.map(nameInText).join(' ')}`).join(', ');
}

/** The owner as messages name it. */
export function ownerOf({ owner }: Pick<Lease, 'owner'>): string {
  if (owner === undefined) return '';
  return ownerText(owner);
}

function cdiNames({ id, cdiDevices, warnings }: Lease): readonly string[] {
  if (cdiDevices.length > 0) return cdiDevices;
  const why = warnings.length === 0 ? 'cdi.dir is off' : warnings.map(visible).join('; ');
  throw new CliError(EXIT.failed, `the lease ${id} has no CDI name: ${why}`);
}

/** An `export` line for a POSIX shell; a comment for a name that no shell variable can have. */
function exported(name: string, value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `# ${visible(name)} is no name that a shell takes`;
  return `export ${name}=${shellWord(value)}`;
}

/** One word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
