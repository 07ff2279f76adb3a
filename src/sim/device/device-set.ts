// The devices of a simulated plugin, and its lists as bytes: long lists are put together from parts that are encoded once.

/** The options of a set. */
export interface DeviceSetOptions {
  readonly devices: number;
  readonly idPrefix: string;
  readonly idBytes: number;
  readonly numa: number;
  readonly unhealthy: number;
}

/** Devices that are healthy or not. */
export class DeviceSet {
  readonly count: number;
  readonly #encode: (index: number, health: string) => Buffer;
  readonly #allHealthy: Buffer;
  /** Where each device begins in `#allHealthy`, and where the last ends. */
  readonly #offsets: Uint32Array;
  readonly #unhealthy = new Set<number>();
  readonly #ids: ReadonlySet<string>;
  #spot: number | undefined;

  /** @param encodeList makes a list of one device */
  constructor(options: DeviceSetOptions, encodeList: (device: object) => Buffer) {
    this.count = options.devices;
    const ids = Array.from({ length: options.devices }, (_, index) =>
      `${options.idPrefix}${String(index)}`.padEnd(options.idBytes, '.'),
    );
    this.#ids = new Set(ids);
    this.#encode = (index, health) => {
      const topology = options.numa === 0 ? undefined : { nodes: [{ ID: index % options.numa }] };
      return encodeList({ ID: ids[index], health, topology });
    };
    const parts = Array.from({ length: options.devices }, (_, index) => this.#encode(index, 'Healthy'));
    this.#allHealthy = Buffer.concat(parts);
    this.#offsets = new Uint32Array(options.devices + 1);
    parts.forEach((part, index) => (this.#offsets[index + 1] = (this.#offsets[index] ?? 0) + part.length));
    for (let index = options.devices - options.unhealthy; index < options.devices; index++) this.#unhealthy.add(index);
  }

  /** How many devices are healthy. */
  get healthy(): number {
    const isSpotSick = this.#spot !== undefined && !this.#unhealthy.has(this.#spot);
    return this.count - this.#unhealthy.size - (isSpotSick ? 1 : 0);
  }

  /** Whether a device of this id is in the lists. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** The first `count` devices change their health. */
  flap(count: number): void {
    for (let index = 0; index < Math.min(count, this.count); index++) {
      if (!this.#unhealthy.delete(index)) this.#unhealthy.add(index);
    }
  }

  /** One device more is unhealthy, each time another, after the last none: no two lists in a row are equal. */
  change(): void {
    const next = this.#spot === undefined ? 0 : this.#spot + 1;
    this.#spot = next < this.count ? next : undefined;
  }

  /** The list as it is now. */
  list(): Buffer {
    const sick = new Set(this.#unhealthy);
    if (this.#spot !== undefined) sick.add(this.#spot);
    if (sick.size === 0) return this.#allHealthy;
    const parts: Buffer[] = [];
    let end = 0;
    for (const index of [...sick].sort((a, b) => a - b)) {
      parts.push(this.#allHealthy.subarray(end, this.#offsets[index]), this.#encode(index, 'Unhealthy'));
      end = this.#offsets[index + 1] ?? 0;
    }
    return Buffer.concat([...parts, this.#allHealthy.subarray(end)]);
  }
}
