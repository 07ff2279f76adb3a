// The CDI file of a lease, of version 0.5.0: the lowest that has `hostPath`, because readers refuse versions that are newer
// than they are, and Debian 12 has one that knows no newer. Pure.
import { ifPossible } from '../kernel/if-possible.js';
import {
  DEVICES_ENV,
  devicesOfEnv,
  leaseEnvs,
  type AnsweredDevice,
  type Lease,
  type NamelessReason,
} from '../model/lease.js';
import { ORIGIN_ENV, originOf, originText, type Origin } from './names.js';
import type { HostNode } from './ports.js';

const VERSION = '0.5.0';
/**
 * Characters that device nodes may take in one file, and the characters of one node beside its two paths. An answer that names
 * directories expands to many nodes, and every container engine of the machine reads every file.
 */
const MAX_NODES_SIZE = 1024 * 1024;
const NODE_SIZE = 48;

interface Edits {
  readonly env?: readonly string[];
  readonly deviceNodes?: readonly { readonly path: string; readonly hostPath: string; readonly permissions: string }[];
  readonly mounts?: readonly {
    readonly hostPath: string;
    readonly containerPath: string;
    readonly options: readonly string[];
  }[];
}

/** A file of ours. */
interface CdiDocument {
  readonly cdiVersion: string;
  readonly kind: string;
  readonly devices: readonly { readonly name: string; readonly containerEdits: Edits }[];
  readonly containerEdits: Edits;
}

/** Why there can be no file. */
interface Unwritable {
  readonly ok: false;
  readonly problem: string;
  readonly reason?: NamelessReason;
}

/** The text of a file, or why there can be none. */
export type Written = { readonly ok: true; readonly text: string } | Unwritable;

/** The container edits of one kind that a lease makes. */
type Part<Kind extends keyof Edits> = { readonly ok: true; readonly value: NonNullable<Edits[Kind]> } | Unwritable;

/** The paths of the host that `cdiText` must know about. */
export function hostPathsOf({ answer }: Lease): string[] {
  return [...new Set(answer.devices.map(hostPathOf))];
}

/**
 * Writes the file of a lease.
 *
 * Links and directories are resolved, because readers take neither for a device node; no major and minor numbers are
 * written, because stale ones would give another device without a word; permissions are written, because the reader's
 * default is not the plugin's meaning.
 *
 * @param kind vendor and class of the device's name
 * @param found what is at each of `hostPathsOf`
 */
export function cdiText(lease: Lease, kind: string, origin: Origin, found: ReadonlyMap<string, HostNode>): Written {
  if (lease.answer.isLost === true) return no('the answers of its plugins are lost');
  const env = envOf(lease);
  if (!env.ok) return env;
  const nodes = nodesOf(lease, found);
  if (!nodes.ok) return nodes;
  const mounts = mountsOf(lease);
  if (!mounts.ok) return mounts;
  const containerEdits: Edits = {
    env: env.value,
    ...(nodes.value.length > 0 ? { deviceNodes: nodes.value } : {}),
    ...(mounts.value.length > 0 ? { mounts: mounts.value } : {}),
  };
  const document: CdiDocument = {
    cdiVersion: VERSION,
    kind,
    devices: [{ name: lease.id, containerEdits }],
    containerEdits: { env: [`${ORIGIN_ENV}=${originText(origin)}`] },
  };
  return { ok: true, text: `${JSON.stringify(document)}\n` };
}

function envOf(lease: Lease): Part<'env'> {
  const env: string[] = [];
  for (const [name, value] of leaseEnvs(lease)) {
    if (!isEnv(name, value)) return no(`the plugin's variable ${JSON.stringify(name)} cannot stand in an environment`);
    env.push(`${name}=${value}`);
  }
  return { ok: true, value: env };
}

function nodesOf({ answer }: Lease, found: ReadonlyMap<string, HostNode>): Part<'deviceNodes'> {
  let size = 0;
  const nodes = new Map<string, { path: string; hostPath: string; permissions: string }>();
  for (const device of answer.devices) {
    const { containerPath, permissions } = device;
    const hostPath = hostPathOf(device);
    if (!isPath(hostPath) || !isPath(containerPath)) {
      return no(
        `the plugin's device ${JSON.stringify(hostPath)} at ${JSON.stringify(containerPath)} is no absolute path`,
      );
    }
    const node = found.get(hostPath) ?? { kind: 'missing' };
    const put = (path: string, real: string): void => {
      if (nodes.has(path) || size > MAX_NODES_SIZE) return;
      size += path.length + real.length + NODE_SIZE;
      nodes.set(path, { path, hostPath: real, permissions: permissions === '' ? 'rwm' : permissions });
    };
    switch (node.kind) {
      case 'node':
        put(containerPath, node.path);
        break;
      case 'directory':
        for (const { below, path } of node.nodes) put(`${containerPath.replace(/\/+$/, '')}/${below}`, path);
        break;
      case 'missing':
        return { ...no(`the device node ${hostPath} does not exist on this machine`), reason: 'device-node-missing' };
      case 'unusable':
        return no(`${hostPath} is no device node but ${node.what}`);
    }
    if (size > MAX_NODES_SIZE) return no('the device nodes that its plugin answered do not fit in one CDI file');
  }
  return { ok: true, value: [...nodes.values()] };
}

function mountsOf({ answer }: Lease): Part<'mounts'> {
  const mounts = answer.mounts.map(({ hostPath, containerPath, readOnly }) => ({
    hostPath,
    containerPath,
    options: ['rbind', readOnly ? 'ro' : 'rw'],
  }));
  const unsound = mounts.find((mount) => !isPath(mount.hostPath) || !isPath(mount.containerPath));
  if (unsound === undefined) return { ok: true, value: mounts };
  const { hostPath, containerPath } = unsound;
  return no(`the plugin's mount ${JSON.stringify(hostPath)} at ${JSON.stringify(containerPath)} is no absolute path`);
}

/** Reads a file of this format: its writer, and the devices it gives. Undefined for a file that is not ours. */
export function readCdiText(
  text: string,
): { readonly origin: Origin; readonly devices: ReadonlyMap<string, readonly string[]> } | undefined {
  const document = parsed(text);
  const origin = originOf(variable(document?.containerEdits?.env, ORIGIN_ENV) ?? '');
  const devices = devicesOfEnv(variable(document?.devices?.[0]?.containerEdits?.env, DEVICES_ENV) ?? '');
  return origin === undefined || devices === undefined ? undefined : { origin, devices };
}

interface MaybeEdits {
  readonly env?: unknown;
}

function parsed(
  text: string,
): { containerEdits?: MaybeEdits; devices?: readonly { containerEdits?: MaybeEdits }[] } | undefined {
  const value = ifPossible(() => JSON.parse(text) as unknown);
  return typeof value === 'object' && value !== null ? value : undefined;
}

function variable(env: unknown, name: string): string | undefined {
  if (!Array.isArray(env)) return undefined;
  const entry = env.find((one): one is string => typeof one === 'string' && one.startsWith(`${name}=`));
  return entry?.slice(name.length + 1);
}

/** A device that names no host path is at the same place on the host. */
function hostPathOf({ hostPath, containerPath }: AnsweredDevice): string {
  return hostPath === '' ? containerPath : hostPath;
}

function isEnv(name: string, value: string): boolean {
  return name !== '' && !/[=\u0000]/.test(name) && !value.includes('\u0000');
}

function isPath(text: string): boolean {
  return text.startsWith('/') && !text.includes('\u0000');
}

function no(problem: string): Unwritable {
  return { ok: false, problem };
}
