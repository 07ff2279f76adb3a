// Whether written files are still there: somebody may remove them while the broker runs.
import { withDeadline } from '../kernel/clock.js';
import type { Surroundings } from '../kernel/surroundings.js';
import type { EventSink } from '../model/event.js';
import type { CheckpointSettings } from '../model/settings.js';
import type { DeviceLists } from './device-lists.js';
import type { Contents } from './draft.js';

/** The files that are looked for, and how. */
export interface PresencePorts extends Pick<Surroundings, 'clock' | 'log'> {
  /** The document: LowdbFile (platform/store/lowdb-file). */
  readonly file: { isThere(): Promise<boolean> };
  readonly lists: Pick<DeviceLists, 'missing' | 'lookAtSizes'>;
  /** Names the lists. */
  readonly contents: Pick<Contents, 'plugins'>;
  /** A look takes `writeDeadlineMs` at most. */
  readonly settings: Pick<CheckpointSettings, 'writeDeadlineMs'>;
  readonly events: EventSink;
}

/** Looks whether the files are there, one look at a time; reports removed files. */
export class Presence {
  readonly #ports: PresencePorts;
  /** The look that was begun last, and the next one, which is shared by all calls until it begins. */
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<boolean> | undefined;

  constructor(ports: PresencePorts) {
    this.#ports = ports;
  }

  /**
   * The result of a look that begins now or later; `unknown`: the disk does not say. Never rejects.
   *
   * @param isNews whether a removal is reported; not while missing files cannot be written anyway
   * @param withSizes of some lists the size counts, too, not only that there is a file
   */
  async look(isNews: boolean, withSizes: boolean): Promise<'there' | 'removed' | 'unknown'> {
    const { clock, settings, log, events, lists, contents } = this.#ports;
    const late = (): Error => new Error('the disk did not say what is there');
    const looking = async (): Promise<boolean> => {
      if (withSizes) await lists.lookAtSizes(contents.plugins);
      return this.#shared();
    };
    try {
      if (await withDeadline(clock, settings.writeDeadlineMs, late, looking)) return 'there';
    } catch {
      // A disk that fails is told by the next write.
      return 'unknown';
    }
    const message = 'files of the checkpoint were removed or changed; they are written again';
    if (isNews) log.warn('checkpoint.removed', message);
    if (isNews) events.record({ type: 'checkpoint', message });
    return 'removed';
  }

  #shared(): Promise<boolean> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      const look = this.#isWhole();
      this.#last = look.catch(() => undefined);
      return look;
    });
    return this.#next;
  }

  async #isWhole(): Promise<boolean> {
    const { file, lists, contents } = this.#ports;
    return (await lists.missing(contents.plugins)).size === 0 && (await file.isThere());
  }
}
