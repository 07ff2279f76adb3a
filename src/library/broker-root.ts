// The root of a broker that a program started: its own, or a temporary one with a short name, because the path of a socket
// has 107 bytes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeTree } from '../platform/fs/remove-tree.js';
import type { Broker, ConfigInput } from './broker-api.js';

/** Longest temporary root, in bytes: a socket's name of 40 still fits below device-plugins/. */
const LONGEST_ROOT = 50;
const PREFIX = 'pb-';
/** The part that mkdtemp(3) adds to the directory: a slash, our prefix and six letters. */
const TEMPORARY_NAME_BYTES = 1 + PREFIX.length + 6;

/** Where a broker of the library lives. */
export interface BrokerRoot {
  readonly root: string;
  readonly isTemporary: boolean;
  /** The file for `--config`. */
  readonly configFile: string;
}

/** Makes the root, or the temporary one where none is named. @throws NodeJS.ErrnoException */
export function makeRoot(wanted: string | undefined): BrokerRoot {
  if (wanted !== undefined) {
    const root = path.resolve(wanted);
    mkdirSync(root, { recursive: true });
    return { root, isTemporary: false, configFile: path.join(root, '.library-config.json') };
  }
  const base = Buffer.byteLength(tmpdir()) <= LONGEST_ROOT - TEMPORARY_NAME_BYTES ? tmpdir() : '/tmp';
  const root = mkdtempSync(path.join(base, PREFIX));
  return { root, isTemporary: true, configFile: path.join(root, 'config.json') };
}

/** The paths of a broker of the library, as the keys of its config say; of a file those that a root has by default. */
export function pathsOf(root: string, config: ConfigInput | string): Broker['paths'] {
  const devicePlugins = pathOf(root, config, 'devicePlugins', 'device-plugins');
  return {
    devicePlugins,
    kubeletSocket: path.join(devicePlugins, 'kubelet.sock'),
    registry: pathOf(root, config, 'pluginsRegistry', 'plugins_registry'),
    plugins: pathOf(root, config, 'plugins', 'plugins'),
    adminSocket: pathOf(root, config, 'brokerSocket', 'broker.sock'),
  };
}

/** The checkpoint of such a broker, in the same way. */
export function checkpointOf(root: string, config: ConfigInput | string): string {
  return path.join(pathOf(root, config, 'state', 'state'), 'checkpoint.json');
}

function pathOf(root: string, config: ConfigInput | string, key: string, standard: string): string {
  const written = typeof config === 'object' ? config['paths'] : undefined;
  const keys = new Map<string, unknown>(typeof written === 'object' && written !== null ? Object.entries(written) : []);
  const value = keys.get(key);
  return path.resolve(root, typeof value === 'string' ? value : standard);
}

/** Writes the config that keys make, and gives the path of the file that holds. JSON is YAML. */
export function writeConfig({ configFile }: BrokerRoot, config: ConfigInput | string): string {
  if (typeof config === 'string') return path.resolve(config);
  // As JSON has them: a key that is undefined is none.
  const keys = JSON.parse(JSON.stringify(config)) as ConfigInput;
  const { http, cdi } = keys;
  const written = { ...keys, http: withStandard({ listen: 'off' }, http), cdi: withStandard({ dir: 'cdi' }, cdi) };
  writeFileSync(configFile, JSON.stringify(written));
  return configFile;
}

/** A section with keys that it has unless it says otherwise; one that is none is left to the check. */
function withStandard(standard: object, section: unknown): unknown {
  if (section === undefined) return standard;
  return typeof section === 'object' && section !== null && !Array.isArray(section)
    ? { ...standard, ...section }
    : section;
}

/** Removes our files. Idempotent. */
export function removeRoot({ root, isTemporary, configFile }: BrokerRoot): void {
  if (isTemporary) removeTree(root);
  else rmSync(configFile, { force: true });
}
