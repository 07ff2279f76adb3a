// Gives the daemon its packages and disks: the only place that knows all adapters.
import path from 'node:path';
import { CheckpointCodec } from '../checkpoint/codec.js';
import { emptyDocument } from '../checkpoint/document.js';
import type { LiveConfig } from '../config/live-config.js';
import { ReadPaces } from '../flood/read-paces.js';
import { RefusalSummary } from '../flood/refusal-summary.js';
import { Journal } from '../journal/journal.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { bottleneckLimiters } from '../platform/limits/bottleneck-limiter.js';
import type { BrokerMetrics } from '../platform/metrics/broker-metrics.js';
import { Peers } from '../platform/peer/peers.js';
import type { Users } from '../platform/peer/users.js';
import { namesMove } from '../platform/fs/name-movers.js';
import { pluginSockets } from '../platform/fs/socket-paths.js';
import { deviceListFiles } from '../platform/store/device-list-files.js';
import { oneAtATime } from '../platform/store/file-lane.js';
import { journalFile } from '../platform/store/journal-file.js';
import { LowdbFile } from '../platform/store/lowdb-file.js';
import { nodeFiles } from '../platform/store/node-files.js';
import { uptimeMs } from '../platform/time/boot.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { Daemon, type DaemonParts } from './daemon.js';
import { Drivers } from './drivers.js';
import { guardPlugins } from '../platform/grpc/guarding.js';

/** The decisions made before. */
export interface AssembleParts extends Surroundings {
  readonly version: string;
  readonly live: LiveConfig;
  readonly self: DaemonParts['self'];
  /** The users of this machine, which the looks at directories know, too. */
  readonly users: Users;
  /** Identifies this boot of the machine; a checkpoint of another one holds hints. */
  readonly bootId: string;
  readonly metrics: BrokerMetrics;
  readonly phaseChanged: DaemonParts['phaseChanged'];
  readonly interpose?: DaemonParts['interpose'];
}

/** Puts a daemon together; nothing is opened yet. */
export function assemble({ live, clock, random, log, metrics, bootId, users, ...rest }: AssembleParts): Daemon {
  const { settings } = live.current;
  const { state } = settings.paths;
  const checkpoint = path.join(state, 'checkpoint.json');
  const files = oneAtATime(nodeFiles);
  const own = { ownUid: rest.self.uid, userOf: users.of };
  const journal = new Journal({ file: journalFile(files, path.join(state, 'events.jsonl')), clock, log, ...own });
  const paths = pluginSockets(settings.paths, rest.self.uid);
  const refusals = new RefusalSummary(log, clock, own);
  const isEnforced = (): boolean => live.flood.mode === 'enforce';
  const { of: reads } = new ReadPaces({ ...own, now: () => clock.mono(), isEnforced, nextTurn });
  const guarding = guardPlugins({
    clock,
    log: refusals,
    events: journal,
    guard: () => settings.guard,
    ...{ ...own, reads },
    count: (what) => metrics.connection(what),
  });
  return new Daemon({
    ...rest,
    ...{ live, clock, random, log, metrics, journal },
    refusals,
    guarding,
    reads,
    bootId,
    bootMs: uptimeMs,
    openLimiter: bottleneckLimiters(clock),
    file: new LowdbFile(files, checkpoint, new CheckpointCodec(), clock, emptyDocument(bootId)),
    lists: deviceListFiles(files, path.join(state, 'devices')),
    peers: new Peers(),
    ...{ users, paths },
    namesMove: namesMove(settings.paths, clock),
    drivers: new Drivers({ settings, clock, random, log, guarding, pin: paths.pin, ownUid: rest.self.uid }),
    countConnection: (what) => metrics.connection(what),
  });
}
