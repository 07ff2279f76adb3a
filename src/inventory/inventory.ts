// The offers of the node: the newest list of each instance, as received, and which instance speaks for a resource.
import type { ListSummary } from '../model/device.js';
import { Listeners } from '../kernel/listeners.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Holding, ListListener, ListRefusal, ListVerdict } from '../model/device-list.js';
import type { AdmissionSettings } from '../model/settings.js';

/** The result of decoding a list, or why it was not accepted. */
export type Decoded =
  | { readonly ok: true; readonly summary: ListSummary; readonly sha256: string }
  | { readonly ok: false; readonly code: ListRefusal; readonly sentence: string };

/** Decodes a list without holding up others: `decodeList` (platform/wire/list-decoder). */
export type ListDecoder = (raw: Buffer, maxDevices: number, signal: AbortSignal) => Promise<Decoded>;

/** The ports of the inventory. */
export interface InventoryPorts {
  readonly decode: ListDecoder;
  /** Asked for each list, because it can be reloaded: LiveConfig (config/live-config). */
  readonly live: { readonly admission: AdmissionSettings };
  readonly metrics: Metrics;
  /** The owner of an instance, where that is neither root nor the broker's user: `strangerUserOf` (model/instance). */
  readonly strangerOf?: (instanceId: string) => number | undefined;
}

/** Holds lists by instance; bounded by admission.maxListBytesTotal. */
export class Inventory {
  /** The listeners of lists. */
  readonly listeners = new Listeners<ListListener>();
  readonly #ports: InventoryPorts;
  readonly #holdings = new Map<string, Holding>();
  /** Bytes of lists that are being decoded, which takes many turns. */
  #inWork = 0;

  constructor(ports: InventoryPorts) {
    this.#ports = ports;
  }

  /** Bytes of all lists together. */
  get bytes(): number {
    let bytes = 0;
    for (const { raw } of this.#holdings.values()) bytes += raw.length;
    return bytes;
  }

  /** The last list of an instance. */
  holding(instanceId: string): Holding | undefined {
    return this.#holdings.get(instanceId);
  }

  /** All lists held. */
  all(): Iterable<Holding> {
    return this.#holdings.values();
  }

  /** Devices in the last list of an instance; undefined when none was taken. */
  known(instanceId: string): number | undefined {
    return this.#holdings.get(instanceId)?.devices;
  }

  /** Takes a list. An equal one is dropped undecoded; a refused one leaves the last good one in place. */
  async offer(instanceId: string, resource: string, raw: Buffer, signal: AbortSignal): Promise<ListVerdict> {
    const before = this.#holdings.get(instanceId);
    if (before?.raw.equals(raw) === true) {
      this.#ports.metrics.update(resource, 'equal', 1, this.#ports.strangerOf?.(instanceId));
      return { kind: 'equal', devices: before.devices };
    }
    const { maxMessageBytes, maxDevices, maxListBytesTotal } = this.#ports.live.admission;
    const tooMuch = this.#checkRoom(resource, raw.length, before?.raw.length ?? 0, maxMessageBytes, maxListBytesTotal);
    if (tooMuch !== undefined) return this.#refuse(instanceId, resource, tooMuch.code, tooMuch.sentence);
    const unfair = this.#checkShare(instanceId, resource, raw.length, maxListBytesTotal);
    if (unfair !== undefined) return this.#refuse(instanceId, resource, 'CAP_LIST_BYTES', unfair);
    this.#inWork += raw.length;
    try {
      return await this.#take(instanceId, resource, raw, maxDevices, signal);
    } finally {
      this.#inWork -= raw.length;
    }
  }

  /** Puts a list in the place of the one before, or back from the checkpoint. Nobody is told. */
  restore(holding: Holding): void {
    this.#holdings.delete(holding.instanceId); // so that it comes last
    this.#holdings.set(holding.instanceId, holding);
  }

  /** Forgets the list of an instance. Unknown instances are ignored. */
  drop(instanceId: string): void {
    this.#holdings.delete(instanceId);
  }

  async #take(
    instanceId: string,
    resource: string,
    raw: Buffer,
    maxDevices: number,
    signal: AbortSignal,
  ): Promise<ListVerdict> {
    const decoded = await this.#ports.decode(raw, maxDevices, signal);
    signal.throwIfAborted();
    if (!decoded.ok) {
      const sentence = `the list of ${resource} is refused: ${decoded.sentence}`;
      return this.#refuse(instanceId, resource, decoded.code, sentence);
    }
    const { summary, sha256 } = decoded;
    const before = this.#holdings.get(instanceId);
    const holding = {
      instanceId,
      resource,
      raw: ownBytes(raw),
      sha256,
      devices: summary.devices,
      healthy: summary.healthy,
    };
    this.restore(holding);
    this.#ports.metrics.update(resource, 'applied', 1, this.#ports.strangerOf?.(instanceId));
    this.listeners.tell((listener) => listener.listApplied?.(holding, before, summary.duplicates));
    return { kind: 'applied', devices: holding.devices };
  }

  #checkRoom(
    resource: string,
    bytes: number,
    freed: number,
    perList: number,
    total: number,
  ): { readonly code: ListRefusal; readonly sentence: string } | undefined {
    if (bytes > perList) {
      const sentence = `the list of ${resource} has ${String(bytes)} bytes; admission.maxMessageBytes allows ${String(perList)}`;
      return { code: 'LIST_TOO_LARGE', sentence };
    }
    const all = this.bytes + this.#inWork - freed + bytes;
    if (all <= total) return undefined;
    const sentence = `the list of ${resource} would bring all lists to ${String(all)} bytes; admission.maxListBytesTotal allows ${String(total)}`;
    return { code: 'CAP_LIST_BYTES', sentence };
  }

  /** One user that is neither root nor the broker's has a quarter of the room, so that no list of others is kept out. */
  #checkShare(instanceId: string, resource: string, bytes: number, total: number): string | undefined {
    const { strangerOf } = this.#ports;
    const uid = strangerOf?.(instanceId);
    if (strangerOf === undefined || uid === undefined) return undefined;
    const [share, most] = [Math.floor(total / 4), Math.floor((3 * total) / 4)];
    let [own, strangers] = [bytes, bytes];
    for (const holding of this.#holdings.values()) {
      const whose = holding.instanceId === instanceId ? undefined : strangerOf(holding.instanceId);
      if (whose !== undefined) strangers += holding.raw.length;
      if (whose === uid) own += holding.raw.length;
    }
    if (own <= share && strangers <= most) return undefined;
    return own > share
      ? `the list of ${resource} would bring those of uid ${String(uid)} to ${String(own)} bytes; it may have ${String(share)}, a quarter of admission.maxListBytesTotal`
      : `the list of ${resource} would bring those of users other than root and the broker to ${String(strangers)} bytes; they may have ${String(most)}, three quarters of admission.maxListBytesTotal`;
  }

  #refuse(instanceId: string, resource: string, code: ListRefusal, sentence: string): ListVerdict {
    this.#ports.metrics.update(resource, 'refused', 1, this.#ports.strangerOf?.(instanceId));
    this.listeners.tell((listener) => listener.listRefused?.(instanceId, code, sentence));
    return { kind: 'refused', sentence };
  }
}

/** A copy where the bytes are a small part of a larger pool, so that one list does not keep the pool alive. */
function ownBytes(raw: Buffer): Buffer {
  return raw.buffer.byteLength > raw.length * 2 ? Buffer.from(raw) : raw;
}
