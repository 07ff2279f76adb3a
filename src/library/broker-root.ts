// The root of a broker that a program started: its own, or a temporary one with a short name, because the path of a socket
// has 107 bytes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeTree } from '../platform/fs/remove-tree.js';
import { pathsBelow } from '../verify/directories.js';
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

/** The paths of a broker of the library: those that a root has by default. */
export function brokerPaths(root: string): Broker['paths'] {
  return { ...pathsBelow(root), adminSocket: path.join(root, 'broker.sock') };
}

/** Writes the config that keys make, and gives the path of the file that holds. JSON is YAML. */
export function writeConfig({ configFile }: BrokerRoot, config: ConfigInput | string): string {
  if (typeof config === 'string') return path.resolve(config);
  const standard = { http: { listen: 'off' }, cdi: { dir: 'cdi' } };
  writeFileSync(configFile, JSON.stringify({ ...standard, ...config }));
  return configFile;
}

/** Removes our files. Idempotent. */
export function removeRoot({ root, isTemporary, configFile }: BrokerRoot): void {
  if (isTemporary) removeTree(root);
  else rmSync(configFile, { force: true });
}
