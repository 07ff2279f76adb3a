// Between an instance of the roster and its entry in the checkpoint. Pure.
import type { Holding } from '../model/device-list.js';
import { DEVICE_PLUGIN, incarnationKey, type Incarnation } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import { timeText } from '../model/views.js';
import { entryKey, type PluginEntry, type PluginFacts } from './document.js';

/** The checkpoint's record of an instance. */
export function factsOf(instance: Instance): PluginFacts {
  const { caller } = instance;
  return {
    type: instance.type,
    name: instance.name,
    door: instance.door,
    endpoint: instance.endpointAsSent,
    endpointPath: instance.endpointPath,
    endpointSocket: incarnationFrom(instance.endpointKey),
    socketPath: instance.socketPath,
    socket: incarnationFrom(instance.socketKey),
    uid: caller?.uid ?? 0,
    ...(caller?.pid === undefined ? {} : { pid: caller.pid }),
    versions: instance.versions,
    version: instance.version,
    options: instance.type === DEVICE_PLUGIN ? instance.facts : {},
    primary: true,
    ...(instance.isAway ? { sentAway: true } : {}),
    firstRegisteredAt: timeText(instance.firstRegisteredAt),
    lastRegisteredAt: timeText(instance.registeredAt),
    registrations: instance.counters.registrations,
    facts: instance.facts,
  };
}

/**
 * The instance as a start puts it back.
 *
 * @param seq its place in the order of registrations
 * @param isHint it only counts once it was probed
 */
export function instanceOf(entry: PluginEntry, seq: number, isHint: boolean, wallMs: number): Instance {
  const caller = {
    uid: entry.uid,
    gid: undefined,
    pid: entry.pid,
    startTime: undefined,
    source: 'peercred',
  } as const;
  return {
    id: entryKey(entry),
    type: entry.type,
    name: entry.name,
    door: entry.door,
    socketPath: entry.socketPath,
    endpointPath: entry.endpointPath,
    endpointAsSent: entry.endpoint,
    socketKey: incarnationKey(entry.socket),
    endpointKey: incarnationKey(entry.endpointSocket),
    versions: entry.versions,
    seq,
    state: entry.primary ? 'restored' : 'held',
    reason: entry.primary ? (isHint ? 'rebooted' : 'from-checkpoint') : 'replaced',
    message: isHint ? 'known from the checkpoint, a hint until it answers' : 'known from the checkpoint',
    stateSince: wallMs,
    registeredAt: wallOf(entry.lastRegisteredAt),
    firstRegisteredAt: wallOf(entry.firstRegisteredAt),
    version: entry.version,
    caller,
    listener: undefined,
    facts: entry.facts,
    // Before its first list an instance takes nobody's place.
    isServing: entry.primary && (entry.type !== DEVICE_PLUGIN || entry.list !== undefined),
    wasWatched: true,
    isHint,
    isConfirmed: false,
    isPresumed: entry.door === 'register' && entry.registrations === 0,
    isAway: entry.sentAway === true && !isHint,
    isDurable: true,
    enrolment: undefined,
    counters: { registrations: entry.registrations, rejected: 0, updates: 0, coalesced: 0, disconnects: 0 },
  };
}

/**
 * The list of an entry, as it was taken.
 *
 * @param healthy devices of it that are healthy
 */
export function holdingOf(id: string, { name, list }: PluginEntry, raw: Buffer, healthy: number): Holding {
  return {
    instanceId: id,
    resource: name,
    raw,
    sha256: list?.sha256 ?? '',
    devices: list?.devices ?? 0,
    healthy,
  };
}

/** Epoch milliseconds of a recorded time; 0 when it cannot be read. */
function wallOf(time: string): number {
  const wall = Date.parse(time);
  return Number.isNaN(wall) ? 0 : wall;
}

/** The incarnation behind a key. */
export function incarnationFrom(key: string): Incarnation {
  const [dev = '', ino = '', birthNs = ''] = key.split(':');
  return { dev, ino, birthNs };
}
