// csi.publish: kubernetes. Writes the drivers' facts into the Node and the CSINode of this node. Every write carries the
// resourceVersion it is based on, so that nobody's change is overwritten, and is a patch of our own fields, so that fields this
// version does not know stay.
import type { ApplyOutcome, NodeFactsTarget } from '../../csi/node-facts-target.js';
import type { NodeInfo } from '../../csi/node-info.js';
import { asError, type Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { ApiCall, ApiClient } from './api-client.js';
import { ApiFailure } from './api-failure.js';
import type { Ledger } from './ledger.js';
import {
  MAX_LABELS,
  NODE_ID_ANNOTATION,
  planDrivers,
  planNode,
  topologyConflicts,
  type CsiNodeDriver,
} from './node-objects.js';
import { PatientLedger } from './patient-ledger.js';
import { RefusedDrivers, RefusedWrite, UnfinishedSearch, type Drivers } from './refused-drivers.js';

/** Sentences about drivers, by name. */
type Sentences = ReadonlyMap<string, string>;

/** The part of a Node that matters here. */
interface NodeObject {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** The part of a CSINode that matters here. */
interface CsiNodeObject {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
  };
  readonly spec: { readonly drivers?: readonly CsiNodeDriver[] | null };
}

const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
/** Answers to a write that may be due to one driver. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 413, 422]);
/** A ledger that could not be written is tried again after so long, in milliseconds. */
const UNWRITTEN_MS = 60_000;

/** The options of the target. */
export interface ApiTargetOptions {
  readonly client: ApiClient;
  readonly ledger: Ledger;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Publishes to the API server. */
export class ApiTarget implements NodeFactsTarget {
  readonly #client: ApiClient;
  readonly #ledger: PatientLedger;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #refused = new RefusedDrivers();

  constructor({ client, ledger, nodeName, clock, log }: ApiTargetOptions) {
    this.#client = client;
    this.#ledger = new PatientLedger({ ledger, clock, log });
    this.#name = nodeName;
    this.#clock = clock;
  }

  known(): Promise<readonly string[] | undefined> {
    return this.#ledger.drivers();
  }

  async apply(
    wanted: ReadonlyMap<string, NodeInfo>,
    unwanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    try {
      await this.#ledger.change(wanted.keys(), []);
      const conflicts = await this.#publish(wanted, unwanted, signal);
      const isWritten = await this.#ledger.change([], unwanted);
      return { ok: true, conflicts, ...(isWritten ? {} : { againAfterMs: UNWRITTEN_MS }) };
    } catch (failure) {
      const retryAfterMs = failure instanceof ApiFailure ? failure.retryAfterMs : undefined;
      const message = `the node facts of CSI drivers are not published: ${asError(failure).message}`;
      return {
        ...{ ok: false, message },
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        ...(failure instanceof UnfinishedSearch ? { isUnfinished: true } : {}),
      };
    }
  }

  /**
   * A driver that the API server refuses keeps no other from being published, nor from being taken back. When all are refused, that
   * is due to none of them: rights may be missing.
   */
  async #publish(wanted: Drivers, unwanted: ReadonlySet<string>, signal: AbortSignal): Promise<Sentences> {
    const nowMs = this.#clock.mono();
    const refused = this.#refused;
    const tried = refused.toTry(wanted, nowMs);
    try {
      const conflicts = await this.#round(tried, unwanted, signal);
      refused.taken(tried);
      return new Map([...refused.sentences, ...conflicts]);
    } catch (failure) {
      if (!(failure instanceof RefusedWrite) || wanted.size === 0) throw failure;
      await this.#round(new Map(), unwanted, signal);
      const round = (part: Drivers): Promise<Sentences> => this.#round(part, new Set(), signal);
      const conflicts = await refused.search({ wanted, tried, refusal: failure, nowMs }, round);
      return new Map([...refused.sentences, ...conflicts]);
    }
  }

  /** In the kubelet's order: a driver that goes leaves CSINode first and the Node last, one that comes the other way round. */
  async #round(wanted: Drivers, unwanted: ReadonlySet<string>, signal: AbortSignal): Promise<Sentences> {
    if (wanted.size + unwanted.size === 0) return new Map();
    const node = await this.#findNode(signal);
    const conflicts = topologyConflicts(new Map(Object.entries(node?.metadata.labels ?? {})), wanted, MAX_LABELS);
    const agreed = new Map([...wanted].filter(([driver]) => !conflicts.has(driver)));
    let csiNode = await this.#findCsiNode(node, signal);
    const change = planDrivers(csiNode?.spec.drivers ?? [], agreed, unwanted);
    csiNode = await this.#removeDrivers(csiNode, change.remove, signal);
    if (node === undefined) {
      if (wanted.size === 0) return conflicts;
      throw new ApiFailure(404, `there is no node ${this.#name} yet; csi.nodeName must be the name of this node`);
    }
    await this.#patchNode(node, agreed, unwanted, signal);
    // The old entry of a driver that changed works until its new facts are taken.
    csiNode = await this.#removeDrivers(csiNode, change.replace, signal);
    if (change.add.length > 0) {
      if (csiNode === undefined) await this.#createCsiNode(node, change.add, signal);
      else await this.#patchCsiNode(csiNode, change.add, signal);
    }
    return conflicts;
  }

  async #findNode(signal: AbortSignal): Promise<NodeObject | undefined> {
    const what = `get node ${this.#name}`;
    return (await this.#client.find({ what, method: 'GET', path: this.#nodePath }, signal)) as NodeObject | undefined;
  }

  /** The CSINode of this node; one that belonged to an earlier node of the same name is deleted, as the kubelet does. */
  async #findCsiNode(node: NodeObject | undefined, signal: AbortSignal): Promise<CsiNodeObject | undefined> {
    const path = this.#csiNodePath;
    const what = `get csinode ${this.#name}`;
    const csiNode = (await this.#client.find({ what, method: 'GET', path }, signal)) as CsiNodeObject | undefined;
    if (csiNode === undefined || node === undefined) return csiNode;
    const { uid, resourceVersion, ownerReferences = [] } = csiNode.metadata;
    if (!ownerReferences.some((owner) => owner.kind === 'Node' && owner.uid !== node.metadata.uid)) return csiNode;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    await this.#client.find({ what: `delete csinode ${this.#name}`, method: 'DELETE', path, body }, signal);
    return undefined;
  }

  async #patchNode(
    node: NodeObject,
    wanted: ReadonlyMap<string, NodeInfo>,
    unwanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const { annotations = {}, labels = {}, resourceVersion } = node.metadata;
    const change = planNode({ annotations, labels }, wanted, unwanted);
    if (change === undefined) return;
    const annotation = change.nodeIds === undefined ? {} : { annotations: { [NODE_ID_ANNOTATION]: change.nodeIds } };
    const body = { metadata: { resourceVersion, labels: change.labels, ...annotation } };
    await this.#write({ what: `patch node ${this.#name}`, method: 'PATCH', path: this.#nodePath, body }, signal);
  }

  async #removeDrivers(
    csiNode: CsiNodeObject | undefined,
    drivers: readonly string[],
    signal: AbortSignal,
  ): Promise<CsiNodeObject | undefined> {
    if (csiNode === undefined || drivers.length === 0) return csiNode;
    return this.#patchCsiNode(
      csiNode,
      drivers.map((driver) => ({ $patch: 'delete', name: driver })),
      signal,
    );
  }

  async #patchCsiNode(csiNode: CsiNodeObject, drivers: readonly object[], signal: AbortSignal): Promise<CsiNodeObject> {
    const body = { metadata: { resourceVersion: csiNode.metadata.resourceVersion }, spec: { drivers } };
    const what = `patch csinode ${this.#name}`;
    const patched = await this.#write({ what, method: 'PATCH', path: this.#csiNodePath, body }, signal);
    return patched as CsiNodeObject;
  }

  async #createCsiNode(node: NodeObject, drivers: readonly CsiNodeDriver[], signal: AbortSignal): Promise<void> {
    const name = this.#name;
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid };
    const body = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name, ownerReferences: [owner] },
      spec: { drivers },
    };
    await this.#write({ what: `create csinode ${name}`, method: 'POST', path: CSI_NODES, body }, signal);
  }

  async #write(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#client.call(call, signal);
    } catch (failure) {
      if (!(failure instanceof ApiFailure) || !REFUSALS.has(failure.status)) throw failure;
      throw new RefusedWrite(failure.status, failure.message, failure.retryAfterMs);
    }
  }

  get #nodePath(): string {
    return `/api/v1/nodes/${encodeURIComponent(this.#name)}`;
  }

  get #csiNodePath(): string {
    return `${CSI_NODES}/${encodeURIComponent(this.#name)}`;
  }
}
