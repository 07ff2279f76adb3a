// `plugin-broker serve`: the edge between the daemon and its process. Arguments, signals, exit codes; nothing else.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CheckpointEncoder } from './checkpoint/encode.js';
import { decodeCheckpoint } from './checkpoint/decode.js';
import { emptyDocument } from './checkpoint/document.js';
import { loadGeneration } from './config/load-config.js';
import { LiveConfig } from './config/live-config.js';
import { PolicyReload } from './config/policy-reload.js';
import { ConfigInvalid, problemText } from './config/problem.js';
import { Daemon } from './daemon/daemon.js';
import { memoryJournal } from './daemon/memory-journal.js';
import { noMetrics } from './kernel/metrics.js';
import { compileGlob } from './platform/config/globs.js';
import { surroundings } from './platform/config/surroundings.js';
import { defaultSource, yamlFile } from './platform/config/yaml-file.js';
import { PathTaken } from './platform/grpc/unix-listener.js';
import { bottleneckLimiters } from './platform/limits/bottleneck-limiter.js';
import { openLog } from './platform/log/pino-log.js';
import { Peers } from './platform/peer/peers.js';
import { deviceListFiles } from './platform/store/device-list-files.js';
import { oneAtATime } from './platform/store/file-lane.js';
import { LowdbFile } from './platform/store/lowdb-file.js';
import { nodeFiles } from './platform/store/node-files.js';
import { systemClock } from './platform/time/system-clock.js';
import { systemRandom } from './platform/time/system-random.js';

const EXIT = { ok: 0, failed: 1, usage: 2, config: 78 } as const;

async function main(): Promise<number> {
  const args = readArguments();
  if (args === undefined) return EXIT.usage;
  const clock = systemClock;
  const source = args.config === undefined ? defaultSource : yamlFile(args.config);
  const around = surroundings();
  let first;
  try {
    first = await loadGeneration(source, args.root, around, compileGlob);
  } catch (failure) {
    if (!(failure instanceof ConfigInvalid)) throw failure;
    for (const problem of failure.problems) process.stderr.write(`${problemText(problem, failure.file)}\n`);
    return EXIT.config;
  }
  const { settings } = first;
  const { log, flush, setLevel } = await openLog(settings.log, clock);
  const live = new LiveConfig(first, source.name, new Date(clock.wall()).toISOString());
  live.onChange(() => setLevel(live.logLevel));
  const journal = memoryJournal(clock);
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  const files = oneAtATime(nodeFiles);
  const encoder = new CheckpointEncoder();
  const daemon = new Daemon({
    version: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version as string,
    live,
    nameAllowed: () => true,
    self: { uid: process.getuid?.() ?? 0, pid: process.pid },
    bootId,
    bootMs: () => Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) * 1000,
    clock,
    random: systemRandom,
    log,
    metrics: noMetrics,
    journal,
    openLimiter: bottleneckLimiters(clock),
    file: new LowdbFile(
      files,
      path.join(settings.paths.state, 'checkpoint.json'),
      { encode: (document) => encoder.encode(document), decode: (bytes) => decodeCheckpoint(bytes) },
      clock,
      emptyDocument(bootId),
    ),
    lists: deviceListFiles(files, path.join(settings.paths.state, 'devices')),
    peers: new Peers(),
    handlers: () => [],
    phaseChanged: () => undefined,
  });
  const reload = new PolicyReload({
    source,
    live,
    rootFlag: args.root,
    around,
    compile: compileGlob,
    clock,
    log,
    events: journal,
  });
  try {
    await daemon.start();
  } catch (failure) {
    if (!(failure instanceof PathTaken)) throw failure;
    log.error('broker.not-started', failure.message);
    await flush(1000);
    return EXIT.failed;
  }
  process.on('SIGHUP', () => void reload.reload('SIGHUP'));
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        void daemon.stop(signal).then(resolve);
      });
    }
  });
  daemon.close();
  await flush(1000);
  return EXIT.ok;
}

function readArguments(): { config: string | undefined; root: string | undefined; takeover: boolean } | undefined {
  try {
    const { values } = parseArgs({
      args: process.argv.slice(3),
      options: { config: { type: 'string' }, root: { type: 'string' }, takeover: { type: 'boolean', default: false } },
    });
    return { config: values.config, root: values.root, takeover: values.takeover };
  } catch (failure) {
    process.stderr.write(`${(failure as Error).message}; see plugin-broker serve --help\n`);
    return undefined;
  }
}

void main().then((code) => process.exit(code));
