// The durable store as the rest of the broker sees it: contents in memory, changes that tell when they are on the disk,
// and a state that says whether the disk can be trusted. Nothing that happens to the disk is fatal.
import { asError, withDeadline } from '../kernel/clock.js';
import { hasCode } from '../kernel/errno.js';
import type { CheckpointView } from '../model/views.js';
import { BesideFiles } from './beside-files.js';
import { DeviceLists } from './device-lists.js';
import type { CheckpointDocument, PluginEntry, StoredAnswer, StoredList } from './document.js';
import { Draft, type Contents } from './draft.js';
import { judge, mayHaveLostLeases } from './findings.js';
import { LeaseAnswers } from './lease-answers.js';
import { GroupCommit, type Durability } from './group-commit.js';
import { Pacer } from './pacer.js';
import type { Found, OpenedCheckpoint } from './ports.js';
import { Presence } from './presence.js';
import type { StorePorts } from './store-ports.js';
import { writeFailure } from './write-failure.js';

const NOTHING = { generation: 0, writtenAt: '', plugins: [], leases: [] } as const;

/** A checkpoint that is only read, because of its format or because the disk hung at start. */
type Frozen = 'newer-format' | 'not-writable';

/** Holds the checkpoint. `open` once, `close` once. */
export class CheckpointStore {
  readonly #ports: StorePorts;
  readonly #lists: DeviceLists;
  readonly #answers: LeaseAnswers;
  readonly #draft: Draft;
  readonly #commit: GroupCommit;
  readonly #pacer: Pacer;
  readonly #presence: Presence;
  readonly #files: BesideFiles;
  #frozen: Frozen | undefined;
  /** Nothing may be written before the disk was read: it holds a state that we do not know. */
  #isRead = false;
  /** The finding of the start; `empty` turns to `ok` with the first generation, `recovered` stays visible. */
  #start: 'ok' | 'recovered' | 'empty' = 'empty';
  #startReason = '';
  #failure: string | undefined;
  #preparing = 0;
  #isClosed = false;
  #durable: Pick<CheckpointDocument, 'generation' | 'writtenAt' | 'plugins' | 'leases'> = NOTHING;

  constructor(ports: StorePorts) {
    this.#ports = ports;
    this.#lists = new DeviceLists(ports.lists, ports.settings.inlineListBytes);
    this.#answers = new LeaseAnswers(this.#lists, ports.settings.inlineListBytes);
    this.#draft = new Draft(ports.bootId, (key, list) => this.#lists.offer(key, list));
    this.#pacer = new Pacer(ports.clock, ports.settings.listIntervalMs);
    const files = { lists: this.#lists, answers: this.#answers, draft: this.#draft, room: () => ports.lists.room() };
    this.#files = new BesideFiles({ ...ports, ...files });
    this.#presence = new Presence({ ...ports, lists: this.#lists, contents: this.#draft });
    this.#commit = new GroupCommit({
      clock: ports.clock,
      random: ports.random,
      deadlineMs: () => ports.leftMs(ports.settings.writeDeadlineMs),
      write: (waiters) => this.#write(waiters),
      afterwards: () => this.#afterwards(),
      onFailure: (failure) => this.#failed(failure === undefined ? undefined : `${failure}; it is tried again`),
      onAttempt: (result, seconds) => ports.metrics.checkpointWrite(result, seconds),
    });
  }

  /** The contents in memory, which the disk follows. */
  get contents(): Contents {
    return this.#draft;
  }

  /** Whether a write, or its preparation, is under way: then the lock must not be given away while the process lives. */
  get isWriting(): boolean {
    return this.#commit.isWriting || this.#preparing > 0;
  }

  /** Why lists of devices wait although registrations and leases become durable, in a sentence; undefined: none does for long. */
  get listsProblem(): string | undefined {
    return this.#files.problem;
  }

  /** The view of `status`. */
  view(): CheckpointView {
    const { generation, writtenAt } = this.#durable;
    const state = this.#frozen ?? (this.#failure === undefined ? this.#start : 'not-writable');
    const reasons = [state === 'ok' ? '' : this.#startReason, this.listsProblem ?? ''];
    const reason = this.#failure ?? reasons.filter((one) => one !== '').join('; ');
    return { state, generation, bytes: this.#ports.file.bytes, lastWrite: writtenAt, reason };
  }

  /** Whether an entry only counts once it was probed. */
  isHint(entry: PluginEntry): boolean {
    return entry.bootId !== this.#ports.bootId;
  }

  /**
   * Reads the disk into memory. Never rejects: every problem is in the view, the log and the events. A disk that does not answer
   * within the write deadline, or the rest of the start's time, is not written to any more, because it may hold more than we know.
   */
  async open(): Promise<OpenedCheckpoint> {
    const { file, bootId } = this.#ports;
    try {
      await this.#inTime('the checkpoint', () => file.read());
    } catch (failure) {
      this.#frozen = 'not-writable';
      this.#failed(`${asError(failure).message}; it is not touched until the broker is restarted`);
      return { view: this.view(), eventSeq: 0, hints: false, rebooted: false, ledger: 'unread' };
    }
    this.#take(file.found);
    this.#isRead = true;
    const { data } = file;
    const isRead = file.found.source === 'current' || file.found.source === 'previous';
    const rebooted = isRead && data.bootId !== bootId;
    if (isRead) {
      this.#durable = data;
      this.#draft.load(data, this.#start === 'recovered');
      this.#lists.loaded(data);
      await this.#readAnswers();
    } else if (mayHaveLostLeases(file.found, bootId)) await this.update((draft) => draft.setLedger('unknown'));
    const ledger = this.#frozen === undefined ? this.#draft.ledger : 'unread';
    const hints = data.plugins.length > 0 && (rebooted || this.#start === 'recovered');
    return { view: this.view(), eventSeq: data.eventSeq, hints, rebooted, ledger };
  }

  /**
   * The bytes of a list; undefined when they are lost, or the disk does not give them within the write deadline, and the
   * devices are unknown. Never rejects.
   */
  async readList(list: StoredList): Promise<Buffer | undefined> {
    if (list.inline !== undefined) return Buffer.from(list.inline, 'base64');
    try {
      return await this.#inTime('it', () => this.#lists.read(list));
    } catch (failure) {
      this.#ports.log.warn(
        'checkpoint.list-unknown',
        `a device list of the checkpoint is unknown: ${asError(failure).message}`,
      );
      return undefined;
    }
  }

  /**
   * Changes the contents at once. Resolves when that is on the disk, or with `not-durable` when it is not within
   * `checkpoint.writeDeadline`; it is written later then, as soon as the disk lets us. Large device lists follow a
   * moment later in any case. Never rejects.
   */
  update(mutate: (draft: Draft) => void): Promise<Durability> {
    mutate(this.#draft);
    return this.mayWrite ? this.#commit.save() : Promise.resolve('not-durable');
  }

  /** Changes the contents at once; it is on the disk with the next change that somebody waits for, or a moment later. */
  note(mutate: (draft: Draft) => void): void {
    mutate(this.#draft);
    if (this.mayWrite) this.#commit.touch();
  }

  /** A change that somebody waits for comes soon. */
  expect(): void {
    if (!this.mayWrite || this.#failure !== undefined || this.#isClosed) return;
    this.#preparing += 1;
    void this.#ports.file.expect().finally(() => (this.#preparing -= 1));
  }

  /**
   * Changes the contents now, or within `checkpoint.listInterval` of the last such change of the same key; of several
   * changes that wait only the last is made.
   */
  updateSoon(key: string, mutate: (draft: Draft) => void): void {
    this.#pacer.soon(key, () => this.note(mutate));
  }

  /** Makes all changes, waiting ones too, and tries to have everything on the disk within `limitMs`. Never rejects. */
  async flush(limitMs: number): Promise<Durability> {
    this.#pacer.flush();
    if (!this.mayWrite) return 'not-durable';
    const until = this.#ports.clock.mono() + limitMs;
    let fate: Durability;
    do fate = await this.#commit.flush(Math.max(0, until - this.#ports.clock.mono()));
    while (fate === 'durable' && this.#files.areWaiting);
    return fate;
  }

  /**
   * Whether the durable state is still on the disk, for a caller that is told so again: files removed or exchanged are written
   * again first. False when that fails, or the disk does not say within `checkpoint.writeDeadline`. Never rejects.
   * @param withSizes of some lists the size counts, too: for looks now and then, because each file takes one
   */
  async isKept(withSizes = false): Promise<boolean> {
    if (!this.mayWrite || this.#durable.generation === 0) return true;
    const found = await this.#presence.look(this.#failure === undefined, withSizes);
    return found === 'there' || (found === 'removed' && (await this.update(() => undefined)) === 'durable');
  }

  /** Ends all timers; changes are not written any more. Does not wait for a write that hangs: see isWriting. */
  close(): void {
    this.#isClosed = true;
    this.#pacer.stop();
    this.#commit.close();
  }

  /** Whether a change can reach the disk now. */
  get mayWrite(): boolean {
    return this.#isRead && this.#frozen === undefined;
  }

  #inTime<T>(what: string, read: () => Promise<T>): Promise<T> {
    const limitMs = this.#ports.leftMs(this.#ports.settings.writeDeadlineMs);
    const late = (): Error => new Error(`the disk did not give ${what} within ${limitMs} ms`);
    return withDeadline(this.#ports.clock, limitMs, late, read);
  }

  #take(found: Found): void {
    const { file, log, events } = this.#ports;
    const { start, reason, level, message } = judge(found, file.data.generation, file.data.plugins.length);
    this.#startReason = reason;
    if (start === 'newer-format') this.#frozen = start;
    else this.#start = start;
    log[level]('checkpoint.opened', message, { source: found.source, bytes: file.bytes });
    events.record({ type: 'checkpoint', message });
  }

  async #write(waiters: number): Promise<void> {
    let failure: Error | undefined;
    const { listsProblem } = this;
    try {
      await this.#files.write(waiters > 0, () => this.#commit.isAwaited);
    } catch (thrown) {
      // A list that cannot be written keeps no registration off the disk; it is told, and tried again.
      failure = asError(thrown);
    }
    const document = this.#nextGeneration();
    if (this.#files.areWaiting) this.#commit.touch();
    this.#ports.file.data = document;
    await this.#ports.file.write().catch((thrown: unknown) => this.#makeRoom(thrown));
    this.#durable = document;
    if (this.#start === 'empty' && this.#startReason === '') {
      this.#start = 'ok';
      this.#tellState();
    }
    if (this.listsProblem !== listsProblem) this.#tellState();
    if (failure !== undefined) throw failure;
  }

  /** An answer that cannot be read is lost, and its lease says so. */
  #readAnswers(): Promise<void> {
    const read = (file: StoredAnswer): Promise<Buffer | undefined> => this.readList({ ...file, devices: 0 });
    return this.#answers.read(this.#draft.leases.values(), read, (id, answer) => this.#draft.putAnswer(id, answer));
  }

  /** Nothing else ends that a disk is full of lists of plugins that have gone: files are removed after a generation was written. */
  async #makeRoom(failure: unknown): Promise<never> {
    if (hasCode(failure, 'ENOSPC', 'EDQUOT'))
      await this.#lists.giveWay(this.#durable, this.#draft.plugins).catch(() => undefined); // the failure is told
    throw failure;
  }

  async #afterwards(): Promise<void> {
    try {
      await this.#lists.committed(this.#ports.file.data, this.#draft.plugins);
    } catch (failure) {
      const why = asError(failure).message;
      this.#ports.log.warn('checkpoint.leftovers', `device lists nobody names could not be removed: ${why}`);
    }
  }

  #failed(failure: string | undefined): void {
    const { log, events } = this.#ports;
    this.#failure = failure === undefined ? undefined : writeFailure(failure, this.#ports.folder);
    const message = this.#failure ?? 'the checkpoint is on the disk again, with everything that happened meanwhile';
    if (this.#failure === undefined) log.info('checkpoint.writable', message);
    else log.error('checkpoint.not-writable', `${message}; plugins are served from memory meanwhile`);
    events.record({ type: 'checkpoint', reason: this.#failure === undefined ? '' : 'not-checkpointed', message });
    this.#tellState();
  }

  #tellState(): void {
    this.#ports.onStateChange(this.view(), this.listsProblem);
  }

  #nextGeneration(): CheckpointDocument {
    const { file, clock, bootId, journal } = this.#ports;
    return {
      generation: file.data.generation + 1,
      bootId,
      writtenAt: new Date(clock.wall()).toISOString(),
      eventSeq: Math.max(file.data.eventSeq, journal.seq),
      plugins: [...this.#draft.plugins.values()],
      limits: this.#draft.limits,
      tombstones: [...this.#draft.tombstones.values()],
      csi: new Map(),
      ledger: this.#draft.ledger,
      leases: this.#answers.asWritten(this.#draft.leases.values()),
      extra: file.data.extra,
    };
  }
}
