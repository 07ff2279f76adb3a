// A plugin's name of a device, resolved to the kernel's node.
import { opendir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Stats } from 'node:fs';
import type { HostNode, LookAtHost } from '../../cdi/ports.js';

/** Device nodes that the directories of one lease may give, and how deep they may be: /dev itself has a few hundred. */
const MAX_NODES = 1024;
const MAX_DEPTH = 8;
/** Names in directories that are looked at for one lease: each costs the thread pool an operation. */
const MAX_NAMES = 4096;
/** Directories of /dev that each container has for itself. */
const OWN_OF_CONTAINERS: ReadonlySet<string> = new Set(['fd', 'mqueue', 'pts', 'shm']);

type Nodes = Extract<HostNode, { kind: 'directory' }>['nodes'];

/** Looks at paths of this machine, links followed, each directory once. */
export const lookAtHost: LookAtHost = async (paths, signal) => {
  const walk = new Walk(signal);
  const found = new Map<string, HostNode>();
  for (const file of paths) found.set(file, await lookAt(file, walk));
  return found;
};

async function lookAt(file: string, walk: Walk): Promise<HostNode> {
  walk.signal.throwIfAborted();
  try {
    const real = await realpath(file);
    const found = await stat(real);
    if (isNode(found)) return { kind: 'node', path: real };
    if (!found.isDirectory()) return { kind: 'unusable', what: found.isFile() ? 'a file' : 'something else' };
    const nodes = await walk.nodesBelow(real);
    return nodes.length === 0
      ? { kind: 'unusable', what: 'a directory without device nodes' }
      : { kind: 'directory', nodes };
  } catch (failure) {
    walk.signal.throwIfAborted();
    const { code, message } = failure as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' };
    return { kind: 'unusable', what: `something that cannot be looked at (${message})` };
  }
}

/** The directories of one lease. */
class Walk {
  readonly signal: AbortSignal;
  readonly #seen = new Map<string, Nodes>();
  #names = 0;
  #nodes = 0;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  /** @throws Error when there are too many names or nodes, when the signal aborts, and the system's refusals */
  async nodesBelow(top: string): Promise<Nodes> {
    const seen = this.#seen.get(top);
    if (seen !== undefined) {
      this.#count(seen.length);
      return seen;
    }
    const nodes: { below: string; path: string }[] = [];
    await this.#look(top, '', 1, nodes);
    nodes.sort((one, other) => (one.below < other.below ? -1 : 1));
    this.#seen.set(top, nodes);
    return nodes;
  }

  async #look(folder: string, below: string, depth: number, nodes: { below: string; path: string }[]): Promise<void> {
    if (depth > MAX_DEPTH) throw new Error(`more than ${String(MAX_DEPTH)} directories in each other`);
    for await (const entry of await opendir(folder)) {
      this.signal.throwIfAborted();
      this.#names += 1;
      if (this.#names > MAX_NAMES) throw new Error(`more than ${String(MAX_NAMES)} names in directories`);
      const file = path.join(folder, entry.name);
      const at = below === '' ? entry.name : `${below}/${entry.name}`;
      // Links to directories are not followed: they may lead round in a circle.
      if (entry.isDirectory()) {
        if (!OWN_OF_CONTAINERS.has(entry.name)) await this.#look(file, at, depth + 1, nodes);
        continue;
      }
      const found = await stat(file).catch(() => undefined); // a link that leads nowhere
      if (found === undefined || !isNode(found)) continue;
      this.#count(1);
      nodes.push({ below: at, path: await realpath(file) });
    }
  }

  #count(nodes: number): void {
    this.#nodes += nodes;
    if (this.#nodes > MAX_NODES) throw new Error(`more than ${String(MAX_NODES)} device nodes`);
  }
}

/** Whether CDI readers take it for a device node. */
function isNode(found: Stats): boolean {
  return found.isCharacterDevice() || found.isBlockDevice() || found.isFIFO();
}
