// One resource in front of the kubelet: the lists it is told, on however many streams it has, and its calls.
import { asError, type Alarm } from '../kernel/clock.js';
import type { DeviceMethod, DeviceOptions } from '../model/device-use.js';
import type { FrontState, FrontView } from '../model/front.js';
import { GRPC_STATUS } from '../model/reasons.js';
import { FrontCalls } from './calls.js';
import type { FrontedResourcePorts } from './fronted-resource-ports.js';
import { ListComposer } from './list-composer.js';
import { ListPace } from './list-pace.js';
import {
  FrontFailure,
  type FrontAnswer,
  type FrontedService,
  type FrontSockets,
  type ListOut,
  type ResourceNow,
} from './ports.js';
import { Registrar, type RegistrarState } from './registrar.js';
import { standingOf } from './standing.js';
import { beyondKubelet, isWorse, NOTHING, type Told } from './told.js';

/** A list sent to the kubelet so long ago has been processed, if it arrived. */
const TAKEN_IN_MS = 5000;

/** Told nothing yet. */
const UNTOLD: Told = { ...NOTHING };

/** One resource. */
export class FrontedResource implements FrontedService {
  readonly name: string;
  readonly #ports: FrontedResourcePorts;
  readonly #calls: FrontCalls;
  readonly #sockets: FrontSockets;
  readonly #registrar: Registrar;
  readonly #composer: ListComposer;
  readonly #streams = new Set<ListOut>();
  readonly #pace = new ListPace();
  /** The resource as known before the reboot, kept while it is speculated on: the broker forgets it when its grace is over. */
  #remembered: ResourceNow | undefined;
  /** The user whose plugin spoke for it last, and the ordinary user in whose share that is. */
  #uid: number | undefined;
  #user: number | undefined;
  #told: Told = UNTOLD;
  #next: Told | undefined;
  /** When the kubelet was told last, on a stream that was open then or opened later. */
  #toldAt = -Infinity;
  #alarm: Alarm | undefined;
  #registration: { readonly state: RegistrarState; readonly why: string } = { state: 'registering', why: '' };
  #tooLarge: string | undefined;
  #view: FrontView;
  #callsUnderWay = 0;
  #idle: (() => void) | undefined;
  #isClosed = false;

  constructor(name: string, ports: FrontedResourcePorts) {
    this.name = name;
    this.#ports = ports;
    this.#view = { state: 'off', reason: '', since: ports.clock.wall(), told: { healthy: 0, unhealthy: 0 } };
    this.#calls = new FrontCalls({
      ...ports,
      resource: name,
      // A resource remembered from before a reboot counts as known.
      resources: {
        now: () => this.#now(),
        call: (...asked) => ports.resources.call(...asked),
        isAlive: (...asked) => ports.resources.isAlive(...asked),
      },
    });
    this.#composer = new ListComposer({ ...ports, resource: name, ready: () => this.refresh() });
    this.#sockets = ports.openSockets(name, this);
    this.#registrar = new Registrar({
      ...ports,
      resource: name,
      user: () => this.#user,
      sockets: this.#sockets,
      options: () => this.options(),
      openStreams: () => this.#streams.size,
      told: (state, why) => {
        this.#registration = { state, why };
        this.#show();
      },
    });
  }

  get uid(): number | undefined {
    return this.#uid;
  }

  /** How it stands. */
  get view(): FrontView {
    return this.#view;
  }

  /** The ordinary user in whose share it is; undefined: it has none. */
  get user(): number | undefined {
    return this.#user;
  }

  /** Nothing is known of it any more, and the kubelet neither follows it nor waits for an answer: it need not be kept. */
  get isOver(): boolean {
    return this.#now() === undefined && this.#streams.size === 0 && this.#callsUnderWay === 0;
  }

  get isOffered(): boolean {
    return !this.#isClosed && this.#told !== UNTOLD;
  }

  afterRegister(go: () => void): void {
    this.#ports.registrations.after(go);
  }

  /** The gate is announced where the plugin wants to be called anyway, and where it was not reached yet. */
  options(): DeviceOptions {
    const now = this.#now();
    const { isConfirmed } = standingOf(now, this.#ports.speculation());
    return {
      preStartRequired: !isConfirmed || now?.options.preStartRequired === true,
      preferredAllocationAvailable: now?.options.preferredAllocationAvailable === true,
    };
  }

  watch(stream: ListOut): () => void {
    if (!this.isOffered) {
      stream.send(NOTHING.bytes);
      stream.end();
      return () => undefined;
    }
    this.#streams.add(stream);
    this.#toldAt = this.#ports.clock.mono();
    if (this.#next === undefined) stream.send(this.#told.bytes);
    else this.#tell(); // both streams say the same
    this.#registrar.look();
    return () => {
      this.#streams.delete(stream);
      this.#registrar.look();
    };
  }

  async call(method: DeviceMethod, request: Buffer, given: AbortController): Promise<FrontAnswer> {
    const { called } = this.#ports;
    this.#callsUnderWay++;
    try {
      const bytes = await this.#calls.call(method, request, given);
      called(method, 'ok');
      return { bytes };
    } catch (failure) {
      called(method, 'failed');
      const { message } = asError(failure);
      return { status: failure instanceof FrontFailure ? failure.status : GRPC_STATUS.UNAVAILABLE, message };
    } finally {
      this.#callsUnderWay--;
      if (this.#callsUnderWay === 0) this.#idle?.();
    }
  }

  /** Its facts changed, or the owners of its devices. */
  refresh(): void {
    if (this.#isClosed) return;
    const { speculation, owners, shares } = this.#ports;
    const now = this.#now();
    const standing = standingOf(now, speculation());
    const told = this.#composer.of(now, standing, owners.idsOf(this.name), this.#user);
    this.#calls.changed();
    if (told === 'later') {
      this.#show(); // what was told stays until then
      return;
    }
    if (told === undefined || told.bytes.length === 0) {
      this.#registrar.isWanted = false;
      this.#tooLarge = undefined;
      this.#alarm?.cancel();
      for (const stream of this.#streams) {
        stream.send(NOTHING.bytes);
        stream.end();
      }
      this.#next = undefined;
      this.#told = UNTOLD;
      shares.leave(this.name);
    } else {
      this.#tooLarge = beyondKubelet(told) ?? shares.take(this.name, this.#user, told.octets);
      if (this.#tooLarge === undefined) {
        this.#offer(told);
        this.#registrar.isWanted = true;
      } else if (this.#told === UNTOLD) this.#registrar.isWanted = false;
    }
    this.#show();
  }

  /** kubelet.sock is another one, or gone. */
  kubeletChanged(): void {
    this.#registrar.look();
  }

  /**
   * The kubelet has no healthy device of it. If it was told of some a while ago, it has let go of our client although our
   * stream is open, as it does when another plugin of that name came and went (kubernetes issue 121994): only a Register
   * helps, and our streams end before it, because their end later would cut off the new client, too.
   */
  notHad(): void {
    const { clock } = this.#ports;
    const isTold = this.#told.healthy > 0 && clock.mono() - this.#toldAt >= TAKEN_IN_MS;
    if (this.#isClosed || !isTold || this.#view.state !== 'fronted') return;
    for (const stream of this.#streams) stream.end();
  }

  /** Registers nothing any more, and finishes calls within the limit; it goes on serving. */
  async finish(limitMs: number): Promise<void> {
    this.#registrar.close();
    if (this.#callsUnderWay === 0) return;
    await new Promise<void>((resolve) => {
      const alarm = this.#ports.clock.alarm(limitMs, resolve);
      this.#idle = () => {
        alarm.cancel();
        resolve();
      };
    });
  }

  /**
   * Finishes calls within the limit, then stops serving. The kubelet's knowledge is not taken back. The sockets of a resource that
   * is over, and of which no pod has devices, leave no files: plugins may have ever new names.
   */
  async close(limitMs: number): Promise<void> {
    await this.finish(limitMs);
    const isForgotten = this.isOver && this.#ports.owners.isFree(this.name);
    this.#isClosed = true;
    this.#alarm?.cancel();
    this.#calls.close();
    for (const stream of this.#streams) stream.end();
    this.#sockets.close(isForgotten);
  }

  #now(): ResourceNow | undefined {
    const { resources, speculation, userOf } = this.#ports;
    const now = resources.now(this.name);
    this.#uid = now?.uid ?? this.#uid;
    if (now !== undefined) {
      this.#user = userOf(this.name);
      this.#remembered = now.isHint && !now.isConfirmed && speculation() === 'on' ? now : undefined;
    }
    return now ?? this.#remembered;
  }

  #offer(told: Told): void {
    if (this.#told === UNTOLD) {
      this.#told = told; // nobody heard anything yet: the first stream gets this
      return;
    }
    if (told.bytes.equals(this.#told.bytes)) {
      this.#next = undefined;
      this.#alarm?.cancel();
      return;
    }
    this.#next = told;
    this.#alarm?.cancel();
    const { clock, wire } = this.#ports;
    const waitMs = this.#pace.waitMs(clock.mono(), isWorse(this.#told, told, wire));
    if (waitMs === 0) this.#tell();
    else this.#alarm = clock.alarm(waitMs, () => this.#tell());
  }

  #tell(): void {
    const next = this.#next;
    this.#next = undefined;
    this.#alarm?.cancel();
    if (next === undefined) return;
    this.#told = next;
    this.#toldAt = this.#ports.clock.mono();
    this.#pace.sent(this.#toldAt);
    for (const stream of this.#streams) stream.send(next.bytes);
    this.#show();
  }

  #show(): void {
    const { state, reason } = this.#state();
    const { healthy, unhealthy } = this.#told;
    const isChange = state !== this.#view.state;
    const since = isChange ? this.#ports.clock.wall() : this.#view.since;
    this.#view = { state, reason, since, told: { healthy, unhealthy } };
    if (isChange) this.#ports.changed(this.name, this.#view, this.#uid);
  }

  #state(): { readonly state: FrontState; readonly reason: string } {
    if (this.#tooLarge !== undefined) {
      const stays = this.#told === UNTOLD ? 'the kubelet is told nothing of it' : 'the list before it stays';
      return { state: 'too-large', reason: `${this.#tooLarge}; ${stays}` };
    }
    const { told, isSpeculative } = standingOf(this.#now(), this.#ports.speculation());
    if (told === 'nothing') return { state: 'off', reason: 'its plugin was not reached since the machine started' };
    if (told === 'goodbye') return { state: 'off', reason: 'it has no devices now' };
    const { state, why } = this.#registration;
    if (state !== 'fronted' || !isSpeculative) return { state, reason: why };
    return {
      state: 'speculating',
      reason: 'the kubelet is told the list of before the reboot; containers wait at the gate',
    };
  }
}
