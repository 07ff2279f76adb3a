// Pods as owners of devices: facts learned device by device, put together again. Pure.

/** The facts about one device. */
export interface DeviceOwner {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Epoch milliseconds of the first answer that named it. */
  readonly since: number;
  /** Answers in a row that did not name it. */
  readonly absent: number;
}

/** One container of a pod with all that it has. */
export interface PodOwner {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Epoch milliseconds since when it is known. */
  readonly since: number;
  /** Device ids by resource. */
  readonly devices: ReadonlyMap<string, readonly string[]>;
}

/**
 * Containers with their devices, those known longest first.
 *
 * @param resource only containers that have devices of it, unless it is empty
 */
export function podOwners(
  byResource: ReadonlyMap<string, ReadonlyMap<string, DeviceOwner>>,
  resource: string,
): readonly PodOwner[] {
  const found = new Map<
    string,
    Omit<PodOwner, 'devices'> & { since: number; readonly devices: Map<string, string[]> }
  >();
  for (const [name, owners] of byResource) {
    for (const [id, { namespace, pod, container, since }] of owners) {
      const key = `${namespace}/${pod}/${container}`;
      const known = found.get(key) ?? { namespace, pod, container, since, devices: new Map<string, string[]>() };
      found.set(key, known);
      known.since = Math.min(known.since, since);
      const ids = known.devices.get(name);
      if (ids === undefined) known.devices.set(name, [id]);
      else ids.push(id);
    }
  }
  return [...found.values()]
    .filter(({ devices }) => resource === '' || devices.has(resource))
    .sort((one, other) => one.since - other.since);
}
