// What plugins call a device, as the kernel has it.
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Stats } from 'node:fs';
import type { HostNode, LookAtHost } from '../../cdi/ports.js';

/** Device nodes below one directory, and how deep they may be: /dev itself has a few hundred. */
const MAX_NODES = 1024;
const MAX_DEPTH = 8;
/** Directories of /dev that each container has for itself. */
const OWN_OF_CONTAINERS: ReadonlySet<string> = new Set(['fd', 'mqueue', 'pts', 'shm']);

/** Looks at a path of this machine, links followed. */
export const lookAtHost: LookAtHost = async (file) => {
  try {
    const real = await realpath(file);
    const found = await stat(real);
    if (isNode(found)) return { kind: 'node', path: real };
    if (!found.isDirectory()) return { kind: 'unusable', what: found.isFile() ? 'a file' : 'something else' };
    const nodes = await nodesBelow(real);
    return nodes.length === 0
      ? { kind: 'unusable', what: 'a directory without device nodes' }
      : { kind: 'directory', nodes };
  } catch (failure) {
    const { code, message } = failure as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' };
    return { kind: 'unusable', what: `something that cannot be looked at (${message})` };
  }
};

async function nodesBelow(top: string): Promise<Extract<HostNode, { kind: 'directory' }>['nodes']> {
  const nodes: { below: string; path: string }[] = [];
  const walk = async (folder: string, below: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) throw new Error(`more than ${String(MAX_DEPTH)} directories in each other`);
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const file = path.join(folder, entry.name);
      const at = below === '' ? entry.name : `${below}/${entry.name}`;
      // Links to directories are not followed: they may lead round in a circle.
      if (entry.isDirectory()) {
        if (!OWN_OF_CONTAINERS.has(entry.name)) await walk(file, at, depth + 1);
        continue;
      }
      const found = await stat(file).catch(() => undefined); // a link that leads nowhere
      if (found !== undefined && isNode(found)) nodes.push({ below: at, path: await realpath(file) });
      if (nodes.length > MAX_NODES) throw new Error(`more than ${String(MAX_NODES)} device nodes`);
    }
  };
  await walk(top, '', 1);
  return nodes;
}

/** What CDI readers take for a device node. */
function isNode(found: Stats): boolean {
  return found.isCharacterDevice() || found.isBlockDevice() || found.isFIFO();
}
