// One life of our talk with one incarnation of a device plugin: dial, ask, watch, end. A session never comes back: a plugin that
// is wanted again is registered again, through admission.
import { abortable, asError, type Alarm } from '../kernel/clock.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { Until } from '../kernel/until.js';
import type { DeviceCalls, DeviceOptions } from '../model/device-use.js';
import { classifyFailedCall, type FailedCall, type StreamEnd } from '../model/failed-call.js';
import type { Enrolment, InstanceHandle } from '../model/plugin.js';
import type { LivenessSettings, Timeouts } from '../model/settings.js';
import { GRPC_STATUS, Refused, type StateReason } from '../model/reasons.js';
import type { ListSink, ListStream, PluginConnection, PluginDialler } from './ports.js';
import { UpdateTurns } from './update-turns.js';
import type { ListPacer } from '../model/flood.js';

/** Moments in one liveness interval at which sessions ask, all of them at the same ones: waking up costs more than a call. */
const SLOTS = 20;

/** The ports of a session. */
export interface SessionPorts extends Pick<Surroundings, 'clock' | 'random'> {
  readonly dialler: PluginDialler;
  readonly lists: ListSink;
  /** Resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn). */
  readonly nextTurn: () => Promise<void>;
  /** The pace of this session's lists. */
  readonly pacer: ListPacer;
  /** Asked each time, because `liveness` can be reloaded. LiveConfig (config/live-config) has both. */
  readonly live: { readonly settings: { readonly timeouts: Timeouts }; readonly liveness: LivenessSettings };
  /** Counts for views. EventRecorder (journal/event-recorder) does. */
  readonly recorder: { counted(instanceId: string, what: 'updates' | 'coalesced' | 'disconnects', by: number): void };
}

/** A session; `closed` is final, and late completions of a closed session change nothing. */
export class Session {
  readonly #ports: SessionPorts;
  readonly #enrolment: Enrolment;
  readonly #instance: InstanceHandle;
  readonly #connection: PluginConnection;
  readonly #halt = new AbortController();
  #liveness: Alarm | undefined;
  #silentProbes = 0;
  #silent = false;
  #lastDevices: number | undefined;
  #steady: { reason: StateReason; message: string };

  constructor(enrolment: Enrolment, instance: InstanceHandle, ports: SessionPorts) {
    this.#enrolment = enrolment;
    this.#instance = instance;
    this.#ports = ports;
    this.#steady = { reason: enrolment.pulled ? 'confirmed' : 'registered', message: 'serves' };
    this.#connection = ports.dialler.dial(enrolment.endpoint);
  }

  /** Whether the session ended. */
  get isClosed(): boolean {
    return this.#halt.signal.aborted;
  }

  /** Dials and asks for the options, which proves that the plugin serves. @throws Refused with the answer */
  async open(signal: AbortSignal): Promise<DeviceOptions> {
    const { name, endpointAsSent } = this.#enrolment;
    try {
      const { optionsMs } = this.#ports.live.settings.timeouts;
      return await new Until(this.#halt.signal).or(signal, (both) => this.#connection.options(optionsMs, both));
    } catch (failure) {
      this.close();
      if (signal.aborted && signal.reason instanceof Refused) throw signal.reason;
      const subject = `${name} at ${endpointAsSent}`;
      const refusal = classifyFailedCall(
        failure as FailedCall,
        'failed to get device plugin options',
        subject,
        'OPTIONS_FAILED',
      );
      throw new Refused(refusal, failure);
    }
  }

  /**
   * Opens ListAndWatch and follows it until it or the session ends. A turn of the loop later: the write that the plugin's answer
   * waits for is on its way to the disk by then.
   */
  watch(): void {
    this.#ask();
    const following = async (): Promise<void> => {
      await this.#ports.nextTurn();
      if (!this.isClosed) await this.#follow();
    };
    void following().catch((failure: unknown) => {
      if (!this.isClosed) this.#end('stream-failed', asError(failure).message);
    });
  }

  /** Only keeps asking whether the plugin lives; its last list stays. Again with another reason: only that changes. */
  probe(reason: 'list-unwatched' | 'recycled', message: string): void {
    this.#steady = { reason, message };
    this.#instance.report({ state: 'ready', reason, message });
    if (this.#liveness !== undefined) return;
    this.#instance.serving();
    this.#connection.onLost(() => this.#end('connection-lost', 'the connection ended'));
    this.#ask();
  }

  /** Asks the plugin once; for keep-alive and for callers that want to know now. */
  async isAlive(limitMs: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#connection.options(limitMs, signal);
      return true;
    } catch {
      return false;
    }
  }

  /** The calls about using devices, over the session's connection. */
  get calls(): DeviceCalls {
    return this.#connection.calls;
  }

  /** Ends it from our side: nothing is reported any more. Idempotent. */
  close(): void {
    if (this.isClosed) return;
    this.#halt.abort(new Error('session closed'));
    this.#liveness?.cancel();
    this.#ports.pacer.close();
    this.#connection.close();
  }

  async #follow(): Promise<void> {
    const stream = this.#connection.listAndWatch();
    const halt = this.#halt.signal;
    halt.addEventListener('abort', () => stream.cancel(), { once: true });
    const turns = new UpdateTurns(stream, this.#ports.pacer, this.#ports.nextTurn);
    while (await this.#takeTurn(stream, turns));
    if (this.isClosed) return;
    this.#ended(stream.end ?? { status: GRPC_STATUS.UNKNOWN, details: 'ended' });
  }

  /**
   * Waits for the next list and takes it; false: there is none, or no more are wanted. A function of its own, because one that
   * waits keeps its variables alive: in the loop the bytes of each list would stay until the next one came, of refused ones, too.
   */
  async #takeTurn(stream: ListStream, turns: UpdateTurns): Promise<boolean> {
    const halt = this.#halt.signal;
    const turn = await abortable(turns.next(halt), halt);
    if (turn === undefined) return false;
    this.#count('updates', turn.taken);
    if (turn.taken > 1) this.#count('coalesced', turn.taken - 1);
    await this.#take(turn.newest);
    stream.done(turn.taken);
    if (!turn.exceeded) return true;
    this.#count('disconnects', 1);
    this.#end('update-flood', 'sent lists faster than its limit allows');
    return false;
  }

  #count(what: 'updates' | 'coalesced' | 'disconnects', by: number): void {
    this.#ports.recorder.counted(this.#instance.id, what, by);
  }

  async #take(raw: Buffer): Promise<void> {
    const verdict = await this.#ports.lists.offer(this.#instance.id, this.#enrolment.name, raw, this.#halt.signal);
    if (this.isClosed) return;
    if (verdict.kind === 'refused') {
      this.#steady = { reason: 'list-refused', message: verdict.sentence };
      this.#instance.report({ state: 'ready', reason: 'list-refused', message: verdict.sentence });
      return;
    }
    const first = this.#lastDevices === undefined;
    this.#lastDevices = verdict.devices;
    if (first) this.#instance.serving();
    if (first || this.#silent || this.#steady.reason === 'list-refused') this.#answered();
  }

  #answered(): void {
    this.#silentProbes = 0;
    this.#silent = false;
    if (this.#steady.reason === 'list-refused') this.#steady = { reason: 'registered', message: 'serves' };
    this.#instance.report({ state: 'ready', ...this.#steady });
  }

  #ended({ status, details, fault }: StreamEnd): void {
    if (this.#lastDevices === 0) this.#end('goodbye', 'sent an empty list and closed');
    else if (status === GRPC_STATUS.OK) this.#end('reopening', 'closed its list stream');
    else if (fault === undefined) this.#end('stream-failed', `ended its list stream: ${details}`);
    else if (fault === 'too-large') {
      this.#end('stream-failed', `LIST_TOO_LARGE: sent a list beyond admission.maxMessageBytes (${details})`);
    } else this.#end('connection-lost', `the connection ended (${details})`);
  }

  #end(reason: StateReason, message: string): void {
    if (this.isClosed) return;
    this.close();
    this.#instance.report({ state: reason === 'goodbye' ? 'gone' : 'held', reason, message });
  }

  /** A plugin that is alive but frozen accepts connections and answers nothing: only a call finds it. */
  #ask(): void {
    const { clock, live, random } = this.#ports;
    const { intervalMs } = live.liveness;
    const now = clock.mono();
    const latest = now + intervalMs * (0.75 + random.next() / 4);
    const slot = intervalMs / SLOTS;
    this.#liveness = clock.alarm(Math.floor(latest / slot) * slot - now, () => {
      void this.#probeOnce().then(() => {
        if (!this.isClosed) this.#ask();
      });
    });
  }

  async #probeOnce(): Promise<void> {
    try {
      await this.#connection.options(this.#ports.live.liveness.timeoutMs, this.#halt.signal);
    } catch (failure) {
      if (this.isClosed) return;
      const { fault, message } = failure as FailedCall;
      // Any answer proves life, an error too; only silence and a dead transport do not.
      if (fault === undefined) {
        this.#alive();
        return;
      }
      this.#silentProbes += 1;
      if (this.#silentProbes < this.#ports.live.liveness.failures || this.#silent) return;
      this.#silent = true;
      this.#instance.report({ state: 'held', reason: 'not-answering', message: `does not answer: ${message}` });
      return;
    }
    if (!this.isClosed) this.#alive();
  }

  #alive(): void {
    this.#silentProbes = 0;
    if (this.#silent) this.#answered();
  }
}
