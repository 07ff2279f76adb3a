// The edge between the daemon and its process: arguments, lock, signals, exit codes. `plugin-broker serve` calls it, and
// serve-under-test.ts with a daemon that it put together otherwise.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadGeneration } from './config/load-config.js';
import { LiveConfig } from './config/live-config.js';
import type { FormSource } from './config/ports.js';
import { PolicyReload, reloadView } from './config/policy-reload.js';
import { ConfigInvalid, problemText } from './config/problem.js';
import { assemble } from './daemon/assemble.js';
import { serveHealth } from './daemon/serving.js';
import { LET_GO_MS, Stopping } from './platform/process/stopping.js';
import { asError, sleep } from './kernel/clock.js';
import type { Log } from './kernel/log.js';
import { rootOfEnvironment } from './model/root.js';
import { watchConfigFile } from './platform/config/config-watch.js';
import { compileGlob } from './platform/config/globs.js';
import { hostFacts } from './platform/config/host-facts.js';
import { defaultSource, yamlFile } from './platform/config/yaml-file.js';
import { boundNameCalls } from './platform/fs/name-calls.js';
import { Users } from './platform/peer/users.js';
import { muteLibrary } from './platform/grpc/mute-library.js';
import { PathTaken } from './platform/grpc/unix-listener.js';
import { openLog } from './platform/log/pino-log.js';
import { BrokerMetrics } from './platform/metrics/broker-metrics.js';
import { loadLibc } from './platform/peer/libc.js';
import { end, endAtOnce, endThoughCallsHang } from './platform/process/ending.js';
import { keepParts, keepProc } from './platform/process/kept-names.js';
import { neverWriteOut } from './platform/process/last-writes.js';
import { ownUid } from './platform/process/own-uid.js';
import { ownMemory, returnMemory } from './platform/process/returned-memory.js';
import { keepHeapSmall, keepYoungSmall } from './platform/process/small-heap.js';
import { acquireInstanceLock, isLockHeld, type LockPorts } from './platform/store/instance-lock.js';
import { LateLock } from './platform/store/late-lock.js';
import { openNotifier, tellSystemd } from './platform/systemd/notifier.js';
import { bootIdOfMachine } from './platform/time/boot.js';
import { systemClock as clock } from './platform/time/system-clock.js';
import { systemRandom as random } from './platform/time/system-random.js';

const EXIT = { ok: 0, failed: 1, usage: 2, config: 78 } as const;
/** A predecessor that is stopping is given this long. */
const WAIT_FOR_LOCK_MS = 10_000;
/** One that answered when we asked it to stop is given this long: it will go, and if we went first nobody would serve. */
const WAIT_FOR_ASKED_MS = 60_000;
/** Log lines are given this long to leave at the end. */
const LAST_LINES_MS = 1000;

interface Arguments {
  readonly config: string | undefined;
  readonly root: string | undefined;
  readonly takeover: boolean;
  /** For tests and `verify`: pretends to be in another boot of the machine. */
  readonly bootId: string | undefined;
}

function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      config: { type: 'string' },
      root: { type: 'string' },
      takeover: { type: 'boolean', default: false },
      'boot-id': { type: 'string' },
    },
  });
  const { config, takeover } = values;
  for (const name of ['config', 'root'] as const)
    if (values[name] === '') throw new Error(`Option '--${name}' wants a path: an empty one names nothing`);
  // As for all other commands, so that they find this daemon.
  const root = values.root ?? rootOfEnvironment(process.env);
  return { config, root, takeover, bootId: values['boot-id'] };
}

export { assemble };

/**
 * Serves in this process until it is told to stop, and ends the process.
 *
 * @param words the arguments of `serve`
 * @param puttingTogether makes the daemon
 * @param served takes the `host:port` of HTTP; undefined where it is off, or where its address cannot be used for now
 */
export async function serve(words: readonly string[], puttingTogether = assemble, served = unheard): Promise<void> {
  const code = await main(words, puttingTogether, served);
  await end(
    code,
    (ms) => sleep(clock, ms),
    () => undefined,
  );
}

/** Nobody hears where HTTP is served. */
function unheard(_address: string | undefined): void {
  // The log says it.
}

async function main(
  words: readonly string[],
  puttingTogether: typeof assemble,
  served: typeof unheard,
): Promise<number> {
  muteLibrary();
  let args: Arguments;
  try {
    args = readArguments(words);
  } catch (failure) {
    process.stderr.write(`${asError(failure).message}; see plugin-broker serve --help\n`);
    return EXIT.usage;
  }
  const source = args.config === undefined ? defaultSource : yamlFile(args.config);
  const around = hostFacts();
  let first;
  try {
    first = await loadGeneration(source, args.root, around, compileGlob);
  } catch (failure) {
    if (!(failure instanceof ConfigInvalid)) throw failure;
    for (const problem of failure.problems) process.stderr.write(`${problemText(problem, failure.file)}\n`);
    return EXIT.config;
  }
  const { log, flush, handOver, setLevel } = await openLog(first.settings.log, clock);
  endThoughCallsHang(handOver);
  neverWriteOut();
  guardProcess(log, flush);
  const live = new LiveConfig(first, source.name, new Date(clock.wall()).toISOString());
  live.onChange(() => setLevel(live.logLevel));
  const code = await run(args, { puttingTogether, served }, live, log, { source, around }, handOver);
  await flush(LAST_LINES_MS);
  return code;
}

async function run(
  args: Arguments,
  { puttingTogether, served }: { readonly puttingTogether: typeof assemble; readonly served: typeof unheard },
  live: LiveConfig,
  log: Log,
  config: Pick<ConstructorParameters<typeof PolicyReload>[0], 'source' | 'around'>,
  handOver: () => void,
): Promise<number> {
  const { settings } = live.current;
  // Installed first: without a listener a SIGHUP during the start would end the process.
  let hangup = (): void => undefined;
  process.on('SIGHUP', () => hangup());
  keepYoungSmall();
  keepProc();
  const users = new Users(ownUid());
  boundNameCalls(() => clock.mono(), { ownUid: ownUid(), userOf: users.of });
  keepParts(import.meta.url);
  const metrics = new BrokerMetrics();
  const notifier = openNotifier({ env: process.env, pid: process.pid, clock, log, libc: loadLibc });
  const tellNotifier = tellSystemd(notifier);
  const daemon = puttingTogether({
    version: versionOfProgram(),
    live,
    self: { uid: ownUid(), pid: process.pid },
    users,
    bootId: args.bootId ?? bootIdOfMachine(),
    clock,
    random,
    log,
    metrics,
    phaseChanged: (view) => {
      // A start is to be fast: its garbage waits.
      if (view.phase !== 'restoring') keepHeapSmall();
      tellNotifier(view);
    },
  });
  const stopping = new Stopping(daemon, {
    clock,
    log,
    pid: process.pid,
    isLockHeld: () => isLockHeld(settings.paths.state, clock),
    endNow: () => endAtOnce(EXIT.failed, handOver),
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stopping.signalled);
  const lockPorts: LockPorts = {
    clock,
    random,
    holder: () => stopping.holder(),
    onTakeover: () => stopping.handOver(),
    onWait: (message) => log.info('broker.waiting', message),
  };
  const outcome = await acquireInstanceLock(
    settings.paths.state,
    { waitMs: WAIT_FOR_LOCK_MS, askedMs: WAIT_FOR_ASKED_MS, takeover: args.takeover },
    lockPorts,
    stopping.signal,
  ).catch((failure: unknown): undefined => {
    if (!stopping.signal.aborted) throw failure;
  });
  if (outcome === undefined || stopping.signal.aborted) {
    if (outcome?.kind === 'held') await outcome.lock.release();
    log.info('broker.stopping', 'the broker was told to stop before it had begun');
    return EXIT.ok;
  }
  if (outcome.kind === 'refused') {
    log.error('broker.not-started', outcome.message);
    return EXIT.failed;
  }
  const lock = (daemon.stateLook.lock =
    outcome.kind === 'held'
      ? outcome.lock
      : new LateLock(settings.paths.state, lockPorts, outcome, (why) => daemon.conditions.set('lock', why)));
  try {
    await daemon.start(outcome.diskMs);
  } catch (failure) {
    await lock.release();
    if (!(failure instanceof PathTaken)) throw failure;
    log.error('broker.not-started', failure.message);
    return EXIT.failed;
  }
  const stopReturning = returnMemory({ clock, ...ownMemory });
  const health = serveHealth(daemon, metrics, settings, { clock, log }, served);
  const reload = new PolicyReload({
    ...config,
    live,
    rootFlag: args.root,
    compile: compileGlob,
    clock,
    log,
    events: daemon.journal,
  });
  hangup = () => void reload.reload('SIGHUP');
  daemon.reload = async () => reloadView(await reload.reload('an operator'), config.source);
  const watching = watchFile(config.source, log, () => void reload.reload('the file changed'));
  // A directory that hangs is never watched: that is no reason not to end.
  await Promise.race([watching, stopping.done]);
  const isClean = await stopping.done;
  // Watchers and names are files, too: where their disk hangs, the end does not wait for them.
  await Promise.race([watching.then((unwatch) => unwatch?.()), sleep(clock, stopping.endMs(LET_GO_MS))]);
  await stopping.leave(lock);
  stopReturning();
  health?.close();
  notifier.close();
  return isClean ? EXIT.ok : EXIT.failed;
}

async function watchFile(
  { file, looks }: FormSource,
  log: Log,
  onChange: () => void,
): Promise<(() => Promise<void>) | undefined> {
  return file === undefined ? undefined : watchConfigFile({ file, clock, log, onChange, seen: looks() });
}

function versionOfProgram(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** An exception that nobody caught is a bug of ours: restarting from the checkpoint is better than going on with it. */
function guardProcess(log: Log, flush: (withinMs: number) => Promise<void>): void {
  let isDying = false;
  const die = (failure: unknown): void => {
    if (isDying) return; // the same bug, or a consequence of it
    isDying = true;
    const { message, stack } = asError(failure);
    const told = `the broker contradicted itself and ends, to be started again from its checkpoint: ${message}`;
    log.error('broker.bug', told, { stack: stack ?? '' });
    void flush(LAST_LINES_MS).then(() => endAtOnce(70, () => undefined));
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
  // Node's own lines on stderr are none of this log. One of each kind tells enough: a repeated one would be a flood.
  const warned = new Set<string>();
  process.removeAllListeners('warning').on('warning', ({ name, message, stack }) => {
    if (warned.has(name)) return;
    warned.add(name);
    log.warn('broker.node-warning', `Node.js warns of something in the broker: ${message}`, { stack: stack ?? '' });
  });
}
