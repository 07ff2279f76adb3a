import { createHash } from 'node:crypto';
import { CheckpointCodec } from '../../src/checkpoint/codec.js';
import type { PluginFacts } from '../../src/checkpoint/document.js';
import { emptyDocument } from '../../src/checkpoint/document.js';
import type { ReceivedList } from '../../src/checkpoint/draft.js';
import type { FilePort } from '../../src/checkpoint/file-port.js';
import { CheckpointStore } from '../../src/checkpoint/store.js';
import type { StorePorts } from '../../src/checkpoint/store-ports.js';
import type { Clock } from '../../src/kernel/clock.js';
import { FakeDisk } from './fake-disk.js';
import { noMetrics, silentLog } from './silence.js';
import { seededRandom } from './seeded-random.js';
import type { EventDraft } from '../../src/model/event.js';
import type { CheckpointView } from '../../src/model/views.js';
import { deviceListFiles } from '../../src/platform/store/device-list-files.js';
import { oneAtATime } from '../../src/platform/store/file-lane.js';
import { LowdbFile } from '../../src/platform/store/lowdb-file.js';

/** A store with everything that surrounds it, and what it told. */
export interface Rig {
  readonly store: CheckpointStore;
  readonly events: EventDraft[];
  readonly views: CheckpointView[];
  /** What was told beside each view, newest last. */
  readonly listsProblems: (string | undefined)[];
}

/** A disk with nothing on it but the folder of a broker. */
export async function newDisk(): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/broker');
  await disk.syncDirectory('/');
  return disk;
}

/** A store in `folder`, wired as in the daemon, not opened yet. */
export function checkpointRig(files: FilePort, folder: string, clock: Clock, more: Partial<StorePorts> = {}): Rig {
  const events: EventDraft[] = [];
  const views: CheckpointView[] = [];
  const listsProblems: (string | undefined)[] = [];
  const bootId = more.bootId ?? 'boot-1';
  const lane = oneAtATime(files);
  const store = new CheckpointStore({
    file: new LowdbFile(lane, `${folder}/checkpoint.json`, new CheckpointCodec(), clock, emptyDocument(bootId)),
    lists: deviceListFiles(lane, `${folder}/devices`),
    folder,
    inventory: { holding: () => undefined },
    settings: { writeDeadlineMs: 2000, listIntervalMs: 1000, inlineListBytes: 1024 },
    leftMs: (atMost) => atMost,
    bootId,
    journal: { seq: 0 },
    clock,
    random: seededRandom(1),
    events: { record: (event) => void events.push(event) },
    log: silentLog,
    metrics: noMetrics,
    onStateChange: (view, listsProblem) => void (views.push(view), listsProblems.push(listsProblem)),
    ...more,
  });
  return { store, events, views, listsProblems };
}

/** A registration of `name`; the same `life` is the same socket. */
export function facts(name: string, life = 1, more: Partial<PluginFacts> = {}): PluginFacts {
  const socket = { dev: '66305', ino: String(1000 + life), birthNs: '1893456000000000000' };
  const path = `/var/lib/plugin-broker/device-plugins/${name.replaceAll('/', '_')}.sock`;
  return {
    type: 'DevicePlugin',
    name,
    door: 'register',
    endpoint: path.slice(path.lastIndexOf('/') + 1),
    endpointPath: path,
    endpointSocket: socket,
    socketPath: path,
    socket,
    uid: 0,
    versions: ['v1beta1'],
    version: 'v1beta1',
    options: { preStartRequired: false, getPreferredAllocationAvailable: false },
    primary: true,
    firstRegisteredAt: '2030-01-01T00:00:00.000Z',
    lastRegisteredAt: '2030-01-01T00:00:00.000Z',
    registrations: 1,
    facts: {},
    ...more,
  };
}

/** A list of so many bytes; the same `fill` is the same list. */
export function list(bytes: number, fill: number): ReceivedList {
  const raw = Buffer.alloc(bytes, fill);
  return { raw, sha256: createHash('sha256').update(raw).digest('hex'), devices: bytes >> 4 };
}
