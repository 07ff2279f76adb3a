// The registrar's side of the talk with the CSI driver: connect, ask for the name, notice when the driver goes away.
import { connectivityState, type ChannelOptions } from '@grpc/grpc-js';
import { backoffMs } from '../kernel/backoff.js';
import { asError, sleep, type Clock } from '../kernel/clock.js';
import { driverNameProblem } from '../model/driver-name.js';
import { identityService } from '../generated/proto/csi/v1/csi.js';
import { GuardedClient } from '../platform/grpc/guarded-client.js';
import { unaryCall } from '../platform/grpc/unary-call.js';
import { Exit, failed } from './exit.js';
import type { RegistrarLog } from './registrar-log.js';

/** How long the driver has to come up, and how often it is said that it has not yet; as with the original. */
const CONNECT_PATIENCE = { withinMs: 30_000, sayEveryMs: 10_000 };

const STEP_MS = 500;

const OPTIONS: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 500,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.service_config_disable_resolution': 1,
};

/** How the name is asked for. */
export interface NameQuery {
  /** Deadline of one query. */
  readonly timeoutMs: number;
  /** A query that failed is repeated for this long; 0: never. */
  readonly retryMs: number;
}

/** A connection to a CSI driver. */
export class DriverClient {
  readonly address: string;
  readonly #client: GuardedClient;
  readonly #clock: Clock;
  readonly #log: RegistrarLog;

  constructor(address: string, clock: Clock, log: RegistrarLog) {
    this.address = address;
    this.#clock = clock;
    this.#log = log;
    const target = address.startsWith('/') ? `unix:${address}` : address;
    this.#client = new GuardedClient(target, clock, OPTIONS);
  }

  /**
   * Waits for the driver.
   *
   * @throws Exit when its time is over; the signal's reason when it aborts
   */
  async connect(signal: AbortSignal, { withinMs, sayEveryMs } = CONNECT_PATIENCE): Promise<void> {
    this.#log.info(1, 'Connecting to the CSI driver', { address: this.address });
    const startedAt = this.#clock.mono();
    for (let said = 0; ;) {
      const waitedMs = this.#clock.mono() - startedAt;
      if (waitedMs >= (said + 1) * sayEveryMs) {
        said += 1;
        this.#log.warning('Still connecting to the CSI driver', { address: this.address });
      }
      if (waitedMs >= withinMs) break;
      // In short steps: the library's timers outlive the client.
      if (await this.#isReadyWithin(Math.min(STEP_MS, sayEveryMs), signal)) return;
    }
    throw failed(
      'DriverUnreachable',
      `nobody answers at ${this.address} after ${withinMs / 1000} s; is the CSI driver running, and its directory mounted here`,
    );
  }

  /**
   * Asks for the driver's name.
   *
   * @throws Exit when the driver answers with an error, an empty name, or one that is not a driver name
   */
  async name(query: NameQuery, signal: AbortSignal): Promise<string> {
    const until = this.#clock.mono() + query.retryMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#askName(query.timeoutMs);
      } catch (failure) {
        if (!(failure instanceof Exit) || this.#clock.mono() >= until) throw failure;
        this.#log.warning('The query for the driver name is repeated', { error: failure.message });
        await sleep(this.#clock, backoffMs(attempt, { firstMs: 200, maxMs: 2000 }, 1), signal);
      }
    }
  }

  /** Calls back once when the connection ends. */
  onLost(lost: () => void): void {
    const channel = this.#client.getChannel();
    const state = channel.getConnectivityState(false);
    if (state === connectivityState.SHUTDOWN) return;
    if (state !== connectivityState.READY) lost();
    else channel.watchConnectivityState(state, Infinity, (failure) => failure === undefined && this.onLost(lost));
  }

  /** Ends the connection. */
  close(): void {
    this.#client.close();
  }

  #isReadyWithin(limitMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#client.waitForReady(Date.now() + limitMs, (failure) => {
        signal.removeEventListener('abort', onAbort);
        resolve(failure === undefined);
      });
    });
  }

  async #askName(timeoutMs: number): Promise<string> {
    const query = unaryCall(this.#client, identityService.GetPluginInfo, {}, Date.now() + timeoutMs);
    const { name } = await query.catch((failure: unknown) => {
      const { message } = asError(failure);
      throw failed('NameQueryFailed', `the CSI driver at ${this.address} did not tell its name: ${message}`);
    });
    // The name becomes part of a path: with a slash in it the socket would be made somewhere else.
    const problem = driverNameProblem(name);
    if (problem === undefined) return name;
    throw failed(
      'NameInvalid',
      `the name ${JSON.stringify(name.slice(0, 80))} of the CSI driver at ${this.address} ${problem}`,
    );
  }
}
