// The first line of a record: it says what the plugin registers, so that it and the lines after it wait until that was seen.
import type { PluginPicture } from '../model/fault-port.js';
import type { RecordLine, RecordOf } from './record.js';
import type { WriteLine } from './recorder.js';

/** The facts about a run that are known before it. */
export type RunFacts = Omit<RecordOf<'run'>, 'kind' | 'v' | 'resources' | 'door'>;

/** Begins the record of one run. */
export class RunLine {
  readonly #run: RunFacts;
  readonly #write: WriteLine;
  #waiting: RecordLine[] | undefined = [];

  constructor(run: RunFacts, write: WriteLine) {
    this.#run = run;
    this.#write = write;
  }

  /** Takes a line of a scenario. */
  readonly take = (line: RecordLine): void => {
    if (this.#waiting === undefined) this.#write(line);
    else this.#waiting.push(line);
  };

  /** Writes the line of the run and those that waited for it; later calls do nothing. @param plugins none: nothing came up */
  begin(plugins: readonly Pick<PluginPicture, 'name' | 'door'>[]): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    const resources = [...new Set(plugins.map(({ name }) => name))].sort();
    const [first] = plugins;
    this.#write({ kind: 'run', v: 1, ...this.#run, resources, ...(first === undefined ? {} : { door: first.door }) });
    for (const line of waiting) this.#write(line);
  }
}
