// Keeps one resource registered with the kubelet, for ever. Register is called when the kubelet is new, when no stream of it
// is open any more although it lives, and when a resource that had no devices has some again; never to change a list or an
// option, because each Register leaves a second client behind in the kubelet, and the end of either cuts off the other.
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { sleep, withDeadline, type Clock } from '../kernel/clock.js';
import { Until } from '../kernel/until.js';
import type { Random } from '../kernel/random.js';
import type { DeviceOptions } from '../model/device-use.js';
import type { FailedCall } from '../model/failed-call.js';
import { Comebacks } from './comebacks.js';
import type { FrontSockets, Kubelet } from './ports.js';
import type { Registrations } from './registrations.js';

const RETRY: BackoffBounds = { firstMs: 20, maxMs: 1000 };
/** The kubelet answers Register after it has called us back. Beyond this it hangs, and is called again. */
const REGISTER_MS = 15_000;
/** After its answer it opens a stream at once. */
const STREAM_MS = 5000;
/** A look that fails, for want of a descriptor say, finds no kubelet either, and nothing tells when it would find one. */
const LOOK_AGAIN_MS = 10_000;
/** The obstacle that kept an entry out of the kubelet's registry may have been removed by an operator, as the sentence asks for. */
const ENTER_AGAIN_MS = 60_000;
/** A kubelet that lives and lets us go so often within a minute has another client for the resource. */
const LOST = { times: 3, withinMs: 60_000 };
/** Where another client offers the resource, too, the broker backs off instead of competing: so long, each time twice as long. */
const YIELD: BackoffBounds = { firstMs: 60_000, maxMs: 600_000 };

/** How far it is. */
export type RegistrarState = 'no-kubelet' | 'registering' | 'fronted' | 'refused';

/** The ports of the registrar, of FrontedResource (front/fronted-resource). */
export interface RegistrarPorts {
  readonly resource: string;
  readonly kubelet: Kubelet;
  readonly sockets: FrontSockets;
  readonly clock: Clock;
  readonly random: Random;
  readonly options: () => DeviceOptions;
  /** Streams that the kubelet has open. */
  readonly openStreams: () => number;
  readonly registrations: Registrations;
  /** The ordinary user in whose share the resource is, also when its plugin has gone; undefined: it has none. */
  readonly user: () => number | undefined;
  /** Whether there is an entry in the registry to be made (front.doors). */
  readonly usesRegistry: boolean;
  readonly told: (state: RegistrarState, why: string) => void;
}

/** Works on one resource while it is wanted. */
export class Registrar {
  readonly #ports: RegistrarPorts;
  readonly #halt = new AbortController();
  readonly #untilHalt = new Until(this.#halt.signal);
  #wake = new AbortController();
  #isWanted = false;
  /** The kubelet that answered Register last. */
  #knownTo: string | undefined;
  readonly #comebacks = new Comebacks();
  #failures = 0;
  /** Why the registry of the kubelet has no entry of it. */
  #noEntry: string | undefined;
  #losses: number[] = [];
  #yields = 0;
  #yieldUntil = -Infinity;
  /** Its Register is no longer under way. */
  #isRegistered: () => void = () => undefined;

  constructor(ports: RegistrarPorts) {
    this.#ports = ports;
    void this.#run();
  }

  /** Whether the kubelet is to know the resource. */
  set isWanted(isWanted: boolean) {
    if (this.#isWanted === isWanted) return;
    this.#isWanted = isWanted;
    if (!isWanted) this.#leave();
    this.look();
  }

  /** Something changed: kubelet.sock, or a stream was opened or ended. */
  look(): void {
    this.#wake.abort();
  }

  /** Ends it. Nothing is taken back from the kubelet. */
  close(): void {
    this.#halt.abort();
    this.#isRegistered();
  }

  async #run(): Promise<void> {
    const { signal } = this.#halt;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      await this.#pause(await this.#step());
    }
    this.#isRegistered(); // its turn may have come when it was closed already
  }

  /** One look and its consequences. @returns milliseconds until the next look, if nothing changes before */
  async #step(): Promise<number> {
    const { kubelet, sockets, openStreams, told, clock } = this.#ports;
    this.#isRegistered();
    if (!this.#isWanted) return Infinity;
    const incarnation = kubelet.incarnation();
    if (incarnation === undefined) {
      told('no-kubelet', 'there is no kubelet.sock');
      this.#failures = 0;
      return LOOK_AGAIN_MS;
    }
    if (this.#knownTo === incarnation && openStreams() > 0) {
      if (this.#noEntry !== undefined) this.#noEntry = sockets.enter();
      told('fronted', `the kubelet follows its list${this.#noEntry === undefined ? '' : `; ${this.#noEntry}`}`);
      this.#failures = 0;
      return this.#noEntry === undefined ? Infinity : ENTER_AGAIN_MS;
    }
    if (this.#knownTo === incarnation && this.#isFoughtOver()) {
      told('refused', 'the kubelet let it go again and again: another plugin or broker registers it, too');
      this.#yields++;
      this.#losses = [];
      this.#yieldUntil = clock.mono() + backoffMs(this.#yields, YIELD, 1);
    }
    const yieldMs = this.#yieldUntil - clock.mono();
    if (this.#knownTo === incarnation && yieldMs > 0) return yieldMs;
    const comebackMs = this.#comebacks.waitMs(incarnation, openStreams(), clock.mono());
    if (comebackMs > 0) {
      told('registering', 'it had no devices a moment ago; the kubelet is called again in a while');
      return comebackMs;
    }
    return this.#register(incarnation);
  }

  async #register(incarnation: string): Promise<number> {
    const { resource, kubelet, sockets, usesRegistry, options, clock, told, registrations, user } = this.#ports;
    const isFirst = this.#failures === 0;
    if (isFirst) told('registering', 'it waits for its turn to be registered');
    let isCalled = false;
    try {
      this.#isRegistered = await registrations.begin(user(), this.#halt.signal);
      if (isFirst) told('registering', 'the kubelet is being called');
      await sockets.ensure();
      // Another kubelet that came meanwhile would be called twice, and one is not to hear of what is not offered any more.
      if (!this.#isFor(incarnation)) return 0;
      isCalled = true;
      await withDeadline(
        clock,
        REGISTER_MS,
        () => new Error(`the kubelet did not answer Register within ${String(REGISTER_MS)} ms`),
        (signal) => kubelet.register(resource, sockets.endpoint, options(), signal),
        this.#halt.signal,
      );
    } catch (failure) {
      this.#isRegistered();
      if (this.#halt.signal.aborted) return Infinity;
      this.#failures++;
      const { message, status, fault } = failure as Partial<FailedCall>;
      // Neither sockets that cannot be served nor an answer of the kubelet are a matter of a moment.
      const isRefused = !isCalled || (status !== undefined && fault === undefined);
      told(isRefused ? 'refused' : 'registering', `it could not be registered: ${String(message)}`);
      return backoffMs(this.#failures, RETRY, this.#ports.random.next());
    }
    if (this.#halt.signal.aborted) return Infinity; // no entry for what was let go meanwhile
    if (this.#knownTo === incarnation) this.#losses.push(clock.mono());
    else this.#yields = 0;
    this.#knownTo = incarnation;
    this.#comebacks.registered(incarnation, clock.mono());
    if (!this.#isWanted) {
      this.#leave(); // while it was being called
      return 0;
    }
    if (usesRegistry) this.#noEntry = sockets.enter();
    return STREAM_MS;
  }

  /** Whether this kubelet is there, and is to know the resource. */
  #isFor(incarnation: string): boolean {
    return !this.#halt.signal.aborted && this.#isWanted && this.#ports.kubelet.incarnation() === incarnation;
  }

  #leave(): void {
    if (this.#knownTo !== undefined) this.#comebacks.left(this.#knownTo, this.#ports.clock.mono());
    this.#knownTo = undefined;
  }

  #isFoughtOver(): boolean {
    const since = this.#ports.clock.mono() - LOST.withinMs;
    this.#losses = this.#losses.filter((at) => at >= since);
    return this.#losses.length >= LOST.times;
  }

  async #pause(ms: number): Promise<void> {
    const rest = (both: AbortSignal): Promise<void> => sleep(this.#ports.clock, ms, both);
    await this.#untilHalt.or(this.#wake.signal, rest).catch(() => undefined);
  }
}
