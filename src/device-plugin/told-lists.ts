// The device lists of one plugin: one state for all its streams, each list at its pace, none twice.
import { ListAndWatchResponse } from '../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { timerMs } from '../kernel/clock.js';
import type { ListCall } from './list-stream.js';
import { ListStream } from './list-stream.js';
import type { Device, DevicePluginEvent } from './plugin-api.js';

/** Longest device id that the broker takes, in bytes of UTF-8. */
const LONGEST_ID = 256;

/** Devices and the streams that are told of them. */
export class ToldLists {
  readonly #minIntervalMs: number;
  readonly #tell: (event: DevicePluginEvent) => void;
  readonly #streams = new Set<ListStream>();
  #devices: readonly Device[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #toldAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** @param minIntervalMs between two lists */
  constructor(minIntervalMs: number, tell: (event: DevicePluginEvent) => void) {
    this.#minIntervalMs = minIntervalMs;
    this.#tell = tell;
  }

  /** The devices as they are. */
  get devices(): readonly Device[] {
    return this.#devices;
  }

  /** Whether there is a device of this id. */
  has(id: string): boolean {
    return this.#devices.some((device) => device.id === id);
  }

  /** Takes a new list. @throws TypeError when no kubelet would take it */
  set(devices: readonly Device[]): void {
    check(devices);
    this.#devices = devices.map((device) => ({ ...device }));
    if (this.#timer !== undefined || this.#streams.size === 0) return;
    const waitMs = this.#toldAt + this.#minIntervalMs - performance.now();
    if (waitMs <= 0) this.#offer();
    else this.#timer = setTimeout(() => this.#offer(), timerMs(waitMs));
  }

  /** Gives a reader the list as it is now, and each one from now on. */
  open(call: ListCall): void {
    const stream = new ListStream(call, {
      queue: 1,
      endAfter: undefined,
      onSent: () => undefined,
      onEnd: () => {
        this.#streams.delete(stream);
        this.#tell({ kind: 'stream', open: this.#streams.size });
      },
    });
    this.#streams.add(stream);
    this.#tell({ kind: 'stream', open: this.#streams.size });
    // All readers have the newest list then: a list that waited for its turn is not sent again.
    this.#offer(stream);
  }

  /** Ends all streams, with an empty list first where it is for good; readers have `graceMs` to take it. */
  async end(isGoodbye: boolean, graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (isGoodbye) await Promise.all([...this.#streams].map((stream) => stream.goodbye(Buffer.alloc(0), graceMs)));
    for (const stream of this.#streams) stream.end();
  }

  #offer(newcomer?: ListStream): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const bytes = ListAndWatchResponse.encode({ devices: this.#devices.map(onTheWire) });
    const isNew = !bytes.equals(this.#bytes);
    this.#bytes = bytes;
    for (const stream of this.#streams) if (isNew || stream === newcomer) stream.offer(bytes);
    if (isNew) this.#toldAt = performance.now();
    if (isNew || newcomer !== undefined) {
      const healthy = this.#devices.filter(({ health = 'Healthy' }) => health === 'Healthy').length;
      this.#tell({ kind: 'list', devices: this.#devices.length, healthy });
    }
  }
}

function onTheWire({ id, health = 'Healthy', numaNodes }: Device): object {
  const topology = numaNodes === undefined ? undefined : { nodes: numaNodes.map((node) => ({ id: node })) };
  return { id, health, topology };
}

function check(devices: readonly Device[]): void {
  const ids = new Set<string>();
  for (const { id } of devices) {
    if (typeof id !== 'string' || id === '') throw new TypeError('a device needs an id');
    if (Buffer.byteLength(id) > LONGEST_ID)
      throw new TypeError(`the id of a device has at most ${LONGEST_ID} bytes: ${id}`);
    if (ids.has(id)) throw new TypeError(`two devices have the id ${id}`);
    ids.add(id);
  }
}
