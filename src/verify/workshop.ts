// Makes rigs and takes them down again, whatever happens.
import { AttachedPlugin } from './attached.js';
import { BrokerProcess } from './broker-process.js';
import { Changes } from './changes.js';
import type { Command } from './command.js';
import { blanksFor, fillIn } from './blanks.js';
import { boundCommand } from './bind.js';
import { pluginKey } from '../model/ids.js';
import { marked, signalTo } from './leftovers.js';
import { makePlaces, removePlaces, type Places } from './places.js';
import { PluginProcess } from './plugin-process.js';
import { PROBE } from './probe.js';
import { Rig, type Known } from './rig.js';
import type { Subject } from './subject.js';
import { Witness } from './witness.js';

/** A plugin that was asked to end when its scenario is over has this long. */
const KIND_MS = 2_000;

/** Whom rigs are made for. */
export interface WorkshopParts {
  /** The broker's program: node, and what it is to run. */
  readonly program: readonly string[];
  /** The plugin's command with names in braces, its file found; undefined for one that runs already. */
  readonly command: Command | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly isBound: boolean;
  /** Where a plugin that runs already finds its registry. */
  readonly attachedRoot: string | undefined;
  readonly signal: AbortSignal;
}

/** A rig with its end. */
export interface OpenRig {
  readonly rig: Rig;
  /** Ends its processes and removes its files; idempotent. */
  close(): Promise<void>;
}

/** Makes rigs. */
export class Workshop {
  readonly #parts: WorkshopParts;
  readonly #open = new Map<Places, () => void>();
  /** One that runs already has one checkpoint, so that it is found again in each scenario. */
  #attached: Places | undefined;

  constructor(parts: WorkshopParts) {
    this.#parts = parts;
  }

  /** Whether the plugin is ours to start and to stop. */
  get isOurs(): boolean {
    return this.#parts.command !== undefined;
  }

  /** Makes a rig; nothing is started. */
  make(known: Known | undefined, onNote: (what: string) => void): OpenRig {
    const { program, command, attachedRoot, isBound, signal } = this.#parts;
    const places = this.#attached ?? makePlaces(attachedRoot, isBound);
    if (attachedRoot !== undefined) this.#attached = places;
    const changes = new Changes(signal);
    const witness = new Witness(pluginKey(PROBE), onNote);
    const broker = new BrokerProcess({
      program,
      places,
      mark: `${places.own}#broker`,
      changes,
      onNews: (news) => witness.take(news),
    });
    const subjects: Subject[] = [];
    const newSubject = (): Subject => {
      const subject =
        command === undefined
          ? new AttachedPlugin()
          : this.#process(command, places, changes, witness, subjects.length);
      subjects.push(subject);
      return subject;
    };
    const subject = newSubject();
    const second = command === undefined ? undefined : newSubject;
    this.#open.set(places, () => {
      broker.killNow();
      for (const one of subjects) one.killNow();
    });
    const rig = new Rig({ places, changes, witness, broker, subject, second, isBound, known });
    return {
      rig,
      close: async () => {
        await this.#close(places, broker, subjects);
        changes.close();
      },
    };
  }

  /** Ends everything that is left on the spot, for a process that ends. */
  abandon(): void {
    for (const [places, kill] of this.#open) {
      kill();
      sweep(places);
      removePlaces(places);
    }
  }

  /** Removes what rigs of a plugin that runs already share. */
  close(): void {
    if (this.#attached !== undefined) removePlaces(this.#attached);
  }

  #process(command: Command, places: Places, changes: Changes, witness: Witness, index: number): Subject {
    const { env, isBound } = this.#parts;
    const blanks = blanksFor(places, isBound);
    const fill = (text: string): string => fillIn(text, blanks);
    const filled = { file: command.file, args: command.args.map(fill) };
    return new PluginProcess({
      command: isBound ? boundCommand(filled, places) : filled,
      env: Object.fromEntries(
        Object.entries(env).map(([name, value]) => [name, value === undefined ? value : fill(value)]),
      ),
      mark: `${places.own}#${index}`,
      changes,
      note: (what) => witness.note('plugin', index === 0 ? what : `second instance: ${what}`),
    });
  }

  async #close(places: Places, broker: BrokerProcess, subjects: readonly Subject[]): Promise<void> {
    if (!this.#open.has(places)) return;
    const isShared = places === this.#attached;
    if (isShared) await broker.stop().catch(() => undefined);
    else await broker.kill().catch(() => undefined);
    await Promise.all(subjects.map((subject) => subject.stop(KIND_MS)));
    sweep(places);
    if (!isShared) removePlaces(places);
    this.#open.delete(places);
  }
}

/** What left its parent and its group is still ours by its mark. */
function sweep({ own }: Places): void {
  for (const { pid } of marked(`${own}#`)) signalTo(pid, 'SIGKILL');
}
