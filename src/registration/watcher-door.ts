// The watched directory as a door: a socket appears, the broker asks it for its name, takes the plugin in, and tells it the
// outcome.
import { sleep, type Clock } from '../kernel/clock.js';
import { cut } from '../kernel/cut.js';
import { pluginKey } from '../model/ids.js';
import { classifyFailedCall, type FailedCall } from '../model/failed-call.js';
import type { FoundSocket, Outcome } from '../model/plugin.js';
import { describeReason, isTransient, type Refusal } from '../model/reasons.js';
import type { Timeouts } from '../model/settings.js';
import type { PluginInfo, RegistrationClient, RegistrationTalk } from './ports.js';
import {
  LONGEST_TEXT,
  type Attempt,
  type Enroller,
  type NoticeBoard,
  type RefusedSockets,
} from '../model/registration.js';
import type { AskingTurns } from './asking-turns.js';

/**
 * A socket that refuses right after it appeared (bind before listen) is tried again after each of these: a directory may be full
 * of dead ones, so not when it was tried before.
 */
const SOON_MS = [5, 5, 10, 10, 20, 30, 40, 40, 40] as const;
/** Waits between tries to deliver a status that did not arrive. */
const NOTIFY_AGAIN_MS = [250, 1000, 5000, 15_000] as const;

/** The ports of the door. */
export interface WatcherDoorPorts {
  readonly enrolments: Pick<Enroller, 'enrol'>;
  readonly client: RegistrationClient;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /** When each socket may be asked. */
  readonly turns: Pick<AskingTurns, 'take' | 'isCrowded'>;
  /** Told of an attempt that failed before anybody could say which plugin it is. */
  readonly recorder: RefusedSockets;
  readonly notices: NoticeBoard;
}

/** GetInfo → admission → handler → NotifyRegistrationStatus, from scratch on each attempt. */
export class WatcherDoor {
  readonly #ports: WatcherDoorPorts;

  constructor(ports: WatcherDoorPorts) {
    this.#ports = ports;
  }

  /**
   * One attempt to register the plugin behind a registration socket.
   *
   * @param failures attempts before this one, which were in vain
   */
  async attempt(found: FoundSocket, signal: AbortSignal, failures = 0): Promise<Attempt> {
    const leave = await this.#ports.turns.take(found.owner, signal);
    const talk = this.#open(found, signal, leave);
    try {
      let asked;
      try {
        asked = await this.#ask(found, talk, failures === 0, signal);
      } finally {
        // A socket that is refused at once has the pace of a silent one: else its user would set the pace by how fast it answers.
        leave(asked?.outcome.ok !== true);
      }
      return asked === undefined ? { done: false } : await this.#tell(talk, asked, signal);
    } finally {
      talk.close();
    }
  }

  /** The socket may have gone, and have been let go, since the turn began: then the turn is over. */
  #open({ socket }: FoundSocket, signal: AbortSignal, leave: (inVain: boolean) => void): RegistrationTalk {
    try {
      signal.throwIfAborted();
      return this.#ports.client.open(socket, signal);
    } catch (failure) {
      leave(true);
      throw failure;
    }
  }

  /** Asks the socket for its name and takes the plugin in; undefined when nobody answered. */
  async #ask(
    found: FoundSocket,
    talk: RegistrationTalk,
    isNew: boolean,
    signal: AbortSignal,
  ): Promise<{ info: PluginInfo; outcome: Outcome } | undefined> {
    const { socket } = found;
    const info = await this.#getInfo(found, talk, isNew, signal);
    if ('code' in info) {
      this.#ports.recorder.refusedAt(socket.path, info, found.owner);
      return undefined;
    }
    const caller = talk.caller();
    const outcome = await this.#ports.enrolments.enrol(
      {
        door: 'watcher',
        pulled: false,
        type: cut(info.type, LONGEST_TEXT),
        name: cut(info.name, LONGEST_TEXT),
        versions: info.supportedVersions.map((version) => cut(version, LONGEST_TEXT)),
        endpoint: cut(info.endpoint, LONGEST_TEXT),
        socket,
        ...(caller === undefined ? {} : { caller }),
      },
      signal,
    );
    return { info, outcome };
  }

  async #tell(
    talk: RegistrationTalk,
    { info, outcome }: { info: PluginInfo; outcome: Outcome },
    signal: AbortSignal,
  ): Promise<Attempt> {
    signal.throwIfAborted();
    if (outcome.ok) {
      return { done: await this.#tellRegistered(talk, outcome.instanceId, signal) };
    }
    const { refusal } = outcome;
    // A refusal that is a matter of time is never told: registrars exit on plugin_registered=false.
    if (isTransient(refusal)) {
      const again = { done: false, atLeastMs: refusal.retryAfterMs ?? 0 } as const;
      return refusal.code === 'QUARANTINED' ? { ...again, keptOut: pluginKey(info) } : again;
    }
    await this.#notify(talk, `${refusal.code}: ${refusal.message}. ${describeReason(refusal.code).remedy}`, signal);
    return { done: false };
  }

  async #getInfo(
    found: FoundSocket,
    talk: RegistrationTalk,
    isNew: boolean,
    signal: AbortSignal,
  ): Promise<PluginInfo | Refusal> {
    const limit = this.#ports.timeouts.getInfoMs;
    for (let tries = 0; ; tries += 1) {
      try {
        return await talk.getInfo(limit);
      } catch (failure) {
        signal.throwIfAborted();
        const refusal = classifyFailedCall(failure as FailedCall, 'GetInfo failed', found.socket.path, 'INFO_FAILED');
        // Where many wait it is tried again after them: most of them are dead.
        const isSoon = isNew && tries < SOON_MS.length && !this.#ports.turns.isCrowded(found.owner);
        if (refusal.code !== 'NO_LISTENER' || !isSoon) return refusal;
      }
      await sleep(this.#ports.clock, SOON_MS[tries] ?? 0, signal);
    }
  }

  /** @returns whether it was told; not when it was lost before: then it is asked from scratch */
  async #tellRegistered(talk: RegistrationTalk, instanceId: string, signal: AbortSignal): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      const why = await this.#notify(talk, undefined, signal);
      if (why === undefined) {
        if (tries > 0) this.#ports.notices.notifyPending(instanceId, false, 'was told that it is registered');
        return true;
      }
      if (!this.#ports.notices.isRegistered(instanceId)) return false;
      this.#ports.notices.notifyPending(instanceId, true, `could not be told that it is registered: ${why}`);
      const wait = NOTIFY_AGAIN_MS[Math.min(tries, NOTIFY_AGAIN_MS.length - 1)] ?? 0;
      await sleep(this.#ports.clock, wait, signal);
    }
  }

  /** Tells the outcome; returns why it did not arrive. */
  async #notify(talk: RegistrationTalk, error: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    try {
      await talk.notify(error, this.#ports.timeouts.notifyMs);
      return undefined;
    } catch (failure) {
      signal.throwIfAborted();
      return (failure as FailedCall).message;
    }
  }
}
