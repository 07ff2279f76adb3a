// The files beside the checkpoint, lists and answers, before each generation: how many of them, and whether the disk has room for them.
// They are copies of what plugins say, and leases are not: files leave room for generations.
import { spareBytes, type DiskRoom } from '../kernel/disk-room.js';
import type { DeviceLists } from './device-lists.js';
import type { Draft } from './draft.js';
import { FileTurns } from './file-turns.js';
import type { LeaseAnswers } from './lease-answers.js';
import type { StorePorts } from './store-ports.js';

/** Generations, as long as the last one, that have room whatever files there are, and bytes for them and for the events to grow. */
const KEPT_GENERATIONS = 4;
const KEPT_BYTES = 40 * 1024 * 1024;
/** And of a small disk this part at most. */
const KEPT_PART = 2;

/** Its ports: StorePorts, and the parts of the store. */
export interface BesideFilesPorts extends Pick<
  StorePorts,
  'clock' | 'log' | 'events' | 'folder' | 'file' | 'inventory'
> {
  readonly lists: DeviceLists;
  readonly answers: LeaseAnswers;
  readonly draft: Draft;
  /** ListFiles.room (checkpoint/ports). */
  readonly room: () => Promise<DiskRoom | undefined>;
}

/** Writes them. */
export class BesideFiles {
  readonly #ports: BesideFilesPorts;
  readonly #turns: FileTurns;
  /** Why lists wait on, in a sentence; undefined: none does for long. */
  problem: string | undefined;

  constructor(ports: BesideFilesPorts) {
    this.#ports = ports;
    this.#turns = new FileTurns(ports.clock);
  }

  /** Whether files wait that can be written. */
  get areWaiting(): boolean {
    return this.#ports.lists.areWaiting || this.#ports.answers.areWaiting;
  }

  /**
   * Writes some of those that wait. One user's must not stand before what others wait for.
   *
   * @param isAwaited somebody waits for the generation that comes
   * @param othersWait whether somebody waits for the one after it, by now
   * @throws Error when the disk does not take them
   */
  async write(isAwaited: boolean, othersWait: () => boolean): Promise<void> {
    const { lists, answers, draft, inventory } = this.#ports;
    await lists.putBack(draft.plugins, inventory);
    let isFirst = true;
    const write = async (files: number): Promise<void> => {
      const roomBytes = await this.#roomBytes();
      // Where no file can be made it is tried once for each generation.
      if (isFirst || answers.areWaiting) await answers.writeSome(files, roomBytes > 0);
      isFirst = false;
      for (const [key, list] of await lists.writeSome(files, draft.plugins, roomBytes)) draft.nameList(key, list);
    };
    if (lists.waiting + answers.waiting > 0)
      await this.#turns.before(isAwaited, write, () => !othersWait() && this.areWaiting);
    if (!lists.areKept) await lists.putBack(draft.plugins, inventory);
    this.#tell();
  }

  async #roomBytes(): Promise<number> {
    const kept = KEPT_GENERATIONS * this.#ports.file.bytes + KEPT_BYTES;
    return spareBytes(await this.#ports.room(), kept, KEPT_PART);
  }

  #tell(): void {
    const { lists, log, events, folder } = this.#ports;
    const isFull = lists.withoutRoom > 0;
    if (isFull === (this.problem !== undefined)) return;
    const full = `lists of devices are not written, to leave room for registrations and leases: make room on the disk of ${folder}; their devices are unknown after a restart until their plugins answer`;
    this.problem = isFull ? full : undefined;
    const message = this.problem ?? `the disk of ${folder} has room for all lists of devices again`;
    if (isFull) log.warn('checkpoint.lists-without-room', message, { lists: lists.withoutRoom });
    else log.info('checkpoint.lists-written', message);
    events.record({ type: 'checkpoint', message });
  }
}
