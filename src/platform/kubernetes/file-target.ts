// The embedded default of csi.publish: a file in the shape of the Kubernetes objects, which tools like kubectl read
// (`kubectl get -f csinode.json`, jq '.items[1].spec.drivers').
import type { ApplyOutcome, NodeFactsTarget } from '../../csi/node-facts-target.js';
import type { NodeInfo } from '../../csi/node-info.js';
import { asError, withDeadline, type Clock } from '../../kernel/clock.js';
import { readIfThere, replaceFile } from './atomic-file.js';
import {
  driverEntry,
  mergeNodeIds,
  NODE_ID_ANNOTATION,
  topologyConflicts,
  type CsiNodeDriver,
} from './node-objects.js';

/** The options of the target. */
export interface FileTargetOptions {
  /** Path of the file. */
  readonly file: string;
  readonly nodeName: string;
  readonly clock: Clock;
}

/** A disk that does not answer within this fails the attempt, in milliseconds. */
const ANSWER_WITHIN_MS = 10_000;

/** The file's contents, as far as they are needed. */
interface Published {
  readonly drivers: ReadonlyMap<string, CsiNodeDriver>;
  readonly labels: ReadonlyMap<string, string>;
}

/** Publishes into one file. All of it is ours: a label goes with the last driver that names it. */
export class FileTarget implements NodeFactsTarget {
  readonly #options: FileTargetOptions;
  /** One operation on the file at a time, also while an earlier one hangs. */
  #running: Promise<unknown> | undefined;

  constructor(options: FileTargetOptions) {
    this.#options = options;
  }

  async known(): Promise<readonly string[]> {
    return this.#alone('read', async () => [...(await this.#read()).drivers.keys()]);
  }

  async apply(
    wanted: ReadonlyMap<string, NodeInfo>,
    unwanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    try {
      return { ok: true, conflicts: await this.#alone('written', () => this.#update(wanted, unwanted), signal) };
    } catch (failure) {
      const why = asError(failure).message;
      return { ok: false, message: `the node facts of CSI drivers cannot be written to ${this.#options.file}: ${why}` };
    }
  }

  /** @throws Error when the work takes too long, or some before it still does */
  async #alone<T>(what: 'read' | 'written', work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { file, clock } = this.#options;
    if (this.#running !== undefined) throw new Error('an earlier operation on the file still hangs');
    const running = work();
    this.#running = running;
    const settle = (): void => void (this.#running = undefined);
    running.then(settle, settle);
    const late = (): Error => new Error(`${file} was not ${what} within ${ANSWER_WITHIN_MS} ms`);
    return withDeadline(clock, ANSWER_WITHIN_MS, late, () => running, signal);
  }

  async #update(
    wanted: ReadonlyMap<string, NodeInfo>,
    unwanted: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, string>> {
    const before = await this.#read();
    const others = [...before.drivers.values()].filter(({ name }) => !wanted.has(name) && !unwanted.has(name));
    const labels = new Map<string, string>();
    for (const key of others.flatMap(({ topologyKeys }) => topologyKeys ?? [])) {
      const value = before.labels.get(key);
      if (value !== undefined) labels.set(key, value);
    }
    const conflicts = topologyConflicts(labels, wanted);
    const published = [...wanted.values()].filter(({ driver }) => !conflicts.has(driver));
    for (const { key, value } of published.flatMap(({ topology }) => topology)) labels.set(key, value);
    const text = this.#objects([...others, ...published.map(driverEntry)], labels);
    if (text !== (await readIfThere(this.#options.file))) await replaceFile(this.#options.file, text);
    return conflicts;
  }

  #objects(drivers: readonly CsiNodeDriver[], labels: ReadonlyMap<string, string>): string {
    const byName = [...drivers].sort((a, b) => (a.name < b.name ? -1 : 1));
    const ids = byName.map(({ name, nodeID }) => ({ driver: name, nodeId: nodeID }));
    const nodeIds = mergeNodeIds(undefined, ids, new Set());
    const { nodeName: name } = this.#options;
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        ...(typeof nodeIds === 'string' ? { annotations: { [NODE_ID_ANNOTATION]: nodeIds } } : {}),
        ...(labels.size > 0 ? { labels: Object.fromEntries([...labels].sort(([a], [b]) => (a < b ? -1 : 1))) } : {}),
      },
    };
    const csiNode = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers: byName } };
    return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [node, csiNode] }, undefined, 2)}\n`;
  }

  /** A file that is damaged, or of another node, counts as empty: it is written anew from the wanted state. */
  async #read(): Promise<Published> {
    const text = await readIfThere(this.#options.file);
    const nothing: Published = { drivers: new Map(), labels: new Map() };
    if (text === undefined) return nothing;
    try {
      const { items } = JSON.parse(text) as { items: [NodeItem, CsiNodeItem] };
      const [node, csiNode] = items;
      if (node.metadata.name !== this.#options.nodeName) return nothing;
      const drivers = new Map(csiNode.spec.drivers.map((driver) => [driver.name, driver]));
      return { drivers, labels: new Map(Object.entries(node.metadata.labels ?? {})) };
    } catch {
      return nothing;
    }
  }
}

interface NodeItem {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

interface CsiNodeItem {
  readonly spec: { readonly drivers: readonly CsiNodeDriver[] };
}
