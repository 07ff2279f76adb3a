// The questions to a broker, on its admin socket, as the command line asks them; errors are BrokerErrors.
import { AdminFailure, Unreachable } from '../platform/grpc/admin-failure.js';
import { AdminClient } from '../platform/grpc/admin-client.js';
import { systemClock } from '../platform/time/system-clock.js';
import type { BrokerEvent } from '../model/event.js';
import type { PluginId } from '../model/ids.js';
import { BrokerError, type BrokerErrorCode, type EventFilter, type PluginRef } from './broker-api.js';

/** How soon events are asked for again after their stream was lost. */
const AGAIN_MS = 50;

const CODES: Partial<Record<AdminFailure['code'], BrokerErrorCode>> = {
  NOT_FOUND: 'NOT_FOUND',
  INVALID_ARGUMENT: 'AMBIGUOUS',
  UNAVAILABLE: 'NOT_RUNNING',
};

/** Asks. */
export class BrokerQuestions {
  readonly #halt = new AbortController();
  readonly #socket: () => string;

  /** @param socket the admin socket of the present life: its config may put it elsewhere than that of the life before */
  constructor(socket: () => string) {
    this.#socket = socket;
  }

  /** Ends all questions. */
  close(): void {
    this.#halt.abort(new BrokerError('NOT_RUNNING', 'the broker was stopped'));
  }

  /** Asks one question. @throws BrokerError */
  async ask<T>(question: (client: AdminClient) => Promise<T>): Promise<T> {
    try {
      return await question(this.#client(this.#halt.signal));
    } catch (thrown) {
      throw asBrokerError(thrown);
    }
  }

  /** Events that a filter lets pass, across restarts, until the signal aborts or the broker was stopped for good. */
  async *events(filter: EventFilter, signal: AbortSignal): AsyncGenerator<BrokerEvent> {
    const both = AbortSignal.any([signal, this.#halt.signal]);
    let since = filter.since ?? 0;
    for (;;) {
      try {
        for await (const event of this.#client(both).events(since, '', true)) {
          since = event.seq + 1;
          if (passes(event, filter)) yield event;
        }
      } catch (thrown) {
        if (isAborted(both)) return;
        if (!(thrown instanceof Unreachable) && !(thrown instanceof AdminFailure)) throw thrown;
      }
      if (isAborted(both)) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  #client(signal: AbortSignal): AdminClient {
    return new AdminClient(this.#socket(), systemClock, signal);
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** The plugin that is meant, as the admin API takes it: an empty type means any. */
export function meant(plugin: PluginRef): PluginId {
  return typeof plugin === 'string' ? { name: plugin, type: '' } : plugin;
}

function passes(event: BrokerEvent, { type, reason, plugin, message }: EventFilter): boolean {
  if (type !== undefined && event.type !== type) return false;
  if (reason !== undefined && event.reason !== reason) return false;
  if (plugin !== undefined && event.plugin !== plugin && !event.plugin.endsWith(`/${plugin}`)) return false;
  return message === undefined || message.test(event.message);
}

/** The error of an admin call, for a program. */
function asBrokerError(thrown: unknown): unknown {
  if (thrown instanceof Unreachable) return new BrokerError('NOT_RUNNING', thrown.message);
  if (!(thrown instanceof AdminFailure)) return thrown;
  return new BrokerError(CODES[thrown.code] ?? 'REFUSED', thrown.message);
}
