// Makes rigs and takes them down again in any case.
import { randomBytes } from 'node:crypto';
import { AttachedPlugin } from './attached.js';
import { BrokerProcess } from './broker-process.js';
import { Changes } from './changes.js';
import type { Command } from './command.js';
import { bracesFor, fillIn } from './braces.js';
import { boundCommand } from './bind.js';
import { pluginKey } from '../model/ids.js';
import { marked, signalTo } from './leftovers.js';
import { makeDirectories, removeDirectories, type Directories } from './directories.js';
import { PluginProcess } from './plugin-process.js';
import { PROBE, PROBE_SOCKET } from './probe.js';
import { redaction } from './redact.js';
import { ScenarioRecorder, type WriteLine } from './recorder.js';
import { Rig, type Known, type Profile } from './rig.js';
import type { Scenario } from './scenario.js';
import type { Subject } from './subject.js';
import type { ScenarioResult } from './verdict.js';
import { Witness } from './witness.js';

/** A plugin that was asked to end when its scenario is over has this long. */
const KIND_MS = 2_000;

/** The parts of all rigs. */
export interface RigFactoryParts {
  /** The broker's program: node, and its arguments. */
  readonly program: readonly string[];
  /** The plugin's command with names in braces, its file found; undefined for one that runs already. */
  readonly command: Command | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly isBound: boolean;
  /** Where a plugin that runs already finds its registry. */
  readonly attachedRoot: string | undefined;
  readonly profile: Profile;
  /** Takes the record; undefined where nobody wants it. */
  readonly write: WriteLine | undefined;
  readonly signal: AbortSignal;
}

/** A rig with its end. */
export interface OpenRig {
  readonly rig: Rig;
  /** Ends the record of its scenario. */
  ended(result: ScenarioResult, isWarning: boolean): void;
  /** Ends its processes and removes its files; idempotent. */
  close(): Promise<void>;
}

/** A scenario that is recorded, and which repetition of it. */
export interface Recorded {
  readonly scenario: Scenario;
  readonly run: number;
}

/** Where a process of the plugin belongs. */
interface ProcessOf {
  readonly directories: Directories;
  readonly changes: Changes;
  readonly witness: Witness;
  readonly recorder: ScenarioRecorder | undefined;
  readonly index: number;
}

/** Makes rigs. */
export class RigFactory {
  readonly #parts: RigFactoryParts;
  readonly #open = new Map<Directories, () => void>();
  /** One that runs already has one checkpoint, so that it is found again in each scenario. */
  #attached: Directories | undefined;
  /** In the marks of our processes: the names of our directories are no secret, and others could say that theirs are ours. */
  readonly #secret = randomBytes(12).toString('hex');

  constructor(parts: RigFactoryParts) {
    this.#parts = parts;
  }

  /** Whether the plugin is ours to start and to stop. */
  get isOurs(): boolean {
    return this.#parts.command !== undefined;
  }

  /** Makes a rig; nothing is started. @param scenario to be recorded; undefined for a rig that is not recorded */
  make(known: Known | undefined, scenario: Recorded | undefined, onNote: (what: string) => void): OpenRig {
    const { program, command, attachedRoot, isBound, profile, signal } = this.#parts;
    const directories = this.#attached ?? makeDirectories(attachedRoot, isBound);
    if (attachedRoot !== undefined) this.#attached = directories;
    const changes = new Changes(signal);
    const recorder = this.#recorder(scenario, directories);
    const witness = new Witness([pluginKey(PROBE), PROBE_SOCKET], onNote, recorder);
    const broker = new BrokerProcess({
      program,
      directories,
      mark: `${this.#markOf(directories)}broker`,
      changes,
      onNews: (news) => witness.take(news),
      span: (pid, is, how) => recorder?.span('broker', String(pid), is, how),
      wrote: (chunk) => recorder?.log('broker', 'err', chunk),
    });
    const subjects: Subject[] = [];
    const newSubject = (): Subject => {
      const subject =
        command === undefined
          ? new AttachedPlugin(directories)
          : this.#process(command, { directories, changes, witness, recorder, index: subjects.length });
      subjects.push(subject);
      return subject;
    };
    const subject = newSubject();
    const second = command === undefined ? undefined : newSubject;
    this.#open.set(directories, () => {
      broker.killNow();
      for (const one of subjects) one.killNow();
    });
    const rig = new Rig({ directories, changes, witness, broker, subject, second, isBound, profile, known });
    return {
      rig,
      ended: (result, isWarning) => recorder?.end(result, isWarning),
      close: async () => {
        await this.#close(directories, broker, subjects);
        changes.close();
      },
    };
  }

  /** Ends everything that is left on the spot, for a process that ends. */
  abandon(): void {
    for (const [directories, kill] of this.#open) {
      kill();
      sweep(this.#markOf(directories));
      removeDirectories(directories);
    }
  }

  /** Removes the files that rigs of an attached plugin share. */
  close(): void {
    if (this.#attached !== undefined) removeDirectories(this.#attached);
  }

  #recorder(scenario: Recorded | undefined, directories: Directories): ScenarioRecorder | undefined {
    const { write, env, command } = this.#parts;
    if (write === undefined || scenario === undefined) return undefined;
    const redact = redaction(directories, env, command === undefined ? [] : [command.file, ...command.args]);
    return new ScenarioRecorder(write, scenario.scenario, redact, scenario.run);
  }

  #process(command: Command, { directories, changes, witness, recorder, index }: ProcessOf): Subject {
    const { env, isBound } = this.#parts;
    const lane = index === 0 ? 'plugin' : 'second';
    const braces = bracesFor(directories, isBound);
    const fill = (text: string): string => fillIn(text, braces);
    const filled = { file: command.file, args: command.args.map(fill) };
    return new PluginProcess({
      command: isBound ? boundCommand(filled, directories) : filled,
      env: Object.fromEntries(
        Object.entries(env).map(([name, value]) => [name, value === undefined ? value : fill(value)]),
      ),
      mark: `${this.#markOf(directories)}${index}`,
      changes,
      note: (what) => witness.note('plugin', index === 0 ? what : `second instance: ${what}`),
      span: (pid, is, how) => recorder?.span(lane, String(pid), is, how),
      wrote: (stream, chunk) => recorder?.log(lane, stream, chunk),
    });
  }

  /** The begin of the marks of processes that have these directories. */
  #markOf({ own }: Directories): string {
    return `${own}#${this.#secret}#`;
  }

  async #close(directories: Directories, broker: BrokerProcess, subjects: readonly Subject[]): Promise<void> {
    if (!this.#open.has(directories)) return;
    const isShared = directories === this.#attached;
    if (isShared) await broker.stop().catch(() => undefined);
    else await broker.kill().catch(() => undefined);
    await Promise.all(subjects.map((subject) => subject.stop(KIND_MS)));
    sweep(this.#markOf(directories));
    if (!isShared) removeDirectories(directories);
    this.#open.delete(directories);
  }
}

/** A process that left its parent and its group is still ours by its mark. */
function sweep(mark: string): void {
  for (const { pid } of marked(mark)) signalTo(pid, 'SIGKILL');
}
