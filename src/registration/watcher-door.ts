// The watched directory as a door: a socket appears, the broker asks who it is, takes it in, and tells it the outcome.
import { sleep, type Clock } from '../kernel/clock.js';
import { pluginKey } from '../model/ids.js';
import { classifyFailedCall, type FailedCall } from '../model/failed-call.js';
import type { PinnedSocket } from '../model/plugin.js';
import { describeReason, isTransient, type Refusal } from '../model/reasons.js';
import type { Timeouts } from '../model/settings.js';
import type { Enrol, PluginInfo, RegistrationClient } from './ports.js';

/** A socket that refuses right after it appeared (bind before listen) is tried again this soon, this often. */
const SOON_MS = 5;
const SOON_TRIES = 40;
/** Waits between tries to deliver a status that did not arrive. */
const NOTIFY_AGAIN_MS = [250, 1000, 5000, 15_000] as const;

/**
 * What an attempt came to. `atLeastMs`: trying again sooner is pointless, unless a quarantine of the plugin `keptOut`
 * (`type/name`) ends before.
 */
export type DoorAttempt =
  { readonly done: true } | { readonly done: false; readonly atLeastMs?: number; readonly keptOut?: string };

/** What the door needs. */
export interface WatcherDoorPorts {
  readonly enrol: Enrol;
  readonly client: RegistrationClient;
  readonly clock: Clock;
  readonly timeouts: () => Timeouts;
  /** An attempt failed before anybody could say which plugin it is: for events and log. */
  readonly failed: (socket: PinnedSocket, refusal: Refusal) => void;
  /** The plugin serves, but does not know it yet (`pending`), or has been told now. */
  readonly notifyPending: (instanceId: string, pending: boolean, message: string) => void;
}

/** GetInfo → admission → handler → NotifyRegistrationStatus, from scratch on each attempt. */
export class WatcherDoor {
  readonly #ports: WatcherDoorPorts;

  constructor(ports: WatcherDoorPorts) {
    this.#ports = ports;
  }

  /** One attempt to register the plugin behind a registration socket. */
  async attempt(socket: PinnedSocket, signal: AbortSignal): Promise<DoorAttempt> {
    const info = await this.#getInfo(socket, signal);
    if ('code' in info) {
      this.#ports.failed(socket, info);
      return { done: false };
    }
    const caller = this.#ports.client.callerOf(socket);
    const outcome = await this.#ports.enrol(
      {
        door: 'watcher',
        pulled: false,
        type: info.type,
        name: info.name,
        versions: info.supportedVersions,
        endpoint: info.endpoint,
        socket,
        ...(caller === undefined ? {} : { caller }),
      },
      signal,
    );
    signal.throwIfAborted();
    if (outcome.ok) {
      await this.#tellRegistered(socket, outcome.instanceId, signal);
      return { done: true };
    }
    const { refusal } = outcome;
    // A refusal that is a matter of time is never told: registrars exit on plugin_registered=false.
    if (isTransient(refusal)) {
      const again = { done: false, atLeastMs: refusal.retryAfterMs ?? 0 } as const;
      return refusal.code === 'QUARANTINED' ? { ...again, keptOut: pluginKey(info) } : again;
    }
    await this.#notify(socket, `${refusal.code}: ${refusal.message}. ${describeReason(refusal.code).remedy}`, signal);
    return { done: false };
  }

  async #getInfo(socket: PinnedSocket, signal: AbortSignal): Promise<PluginInfo | Refusal> {
    const limit = this.#ports.timeouts().getInfoMs;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ports.client.getInfo(socket, limit, signal);
      } catch (failure) {
        signal.throwIfAborted();
        const refusal = classifyFailedCall(failure as FailedCall, 'GetInfo failed', socket.path, 'INFO_FAILED');
        if (refusal.code !== 'NO_LISTENER' || tries >= SOON_TRIES) return refusal;
      }
      await sleep(this.#ports.clock, SOON_MS, signal);
    }
  }

  async #tellRegistered(socket: PinnedSocket, instanceId: string, signal: AbortSignal): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const why = await this.#notify(socket, undefined, signal);
      if (why === undefined) {
        if (tries > 0) this.#ports.notifyPending(instanceId, false, 'was told that it is registered');
        return;
      }
      this.#ports.notifyPending(instanceId, true, `could not be told that it is registered: ${why}`);
      const wait = NOTIFY_AGAIN_MS[Math.min(tries, NOTIFY_AGAIN_MS.length - 1)] ?? 0;
      await sleep(this.#ports.clock, wait, signal);
    }
  }

  /** Tells the outcome; returns why it did not arrive. */
  async #notify(socket: PinnedSocket, error: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#ports.client.notify(socket, error, this.#ports.timeouts().notifyMs, signal);
      return undefined;
    } catch (failure) {
      signal.throwIfAborted();
      return (failure as FailedCall).message;
    }
  }
}
